"""Clears away what has expired: sign-ins, tokens, certificates, grants, codes, failures, tombstones, old entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.people import FAILURE_WINDOW_S
from control.store import acme, clients, feed, jobs, leases, people, shares, signin
from control.store.engine import Database
from control.store.tables import Grant, HopCode, Session, Token

EVERY_S: Final = 60.0
ENDED_KEPT_S: Final = 7 * 24 * 3600.0
"""Seconds for which gateways can say of an entry that its job has ended; after that they do not know it."""
_LEASES_KEPT_S: Final = 24 * 3600.0


class Sweep:
    """One sweep at a time. Holds no state."""

    def __init__(self, db: Database, now: Callable[[], float]) -> None:
        self._db = db
        self._now = now

    async def look(self) -> None:
        """Clears everything that has had its time."""
        now = self._now()
        async with self._db.write() as session:
            await _end_rights(session, now)
            await session.execute(delete(HopCode).where(HopCode.expires_at <= now))
            await signin.clear_failures(session, now - FAILURE_WINDOW_S)
            await acme.let_go(session, now)
            await jobs.forget_ended(session, now - ENDED_KEPT_S, now)
            await leases.clear_expired(session, now - _LEASES_KEPT_S)
            await feed.compact(session, now)


async def _end_rights(session: AsyncSession, now: float) -> None:
    """Gateways heed the expiry themselves; here the rows and records go."""
    for session_id in (await session.scalars(select(Session.id).where(Session.expires_at <= now))).all():
        await people.end_session(session, session_id, now)
    for token in (await session.scalars(select(Token).where(Token.expires_at <= now))).all():
        await people.drop_token(session, token, now)
    await clients.drop_expired(session, now)
    for grant in (await session.scalars(select(Grant).where(Grant.expires_at <= now))).all():
        await shares.drop_grant(session, grant, now)
