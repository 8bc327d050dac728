"""Share codes, the grants that they give, and the one-time codes of the hop from console to entry."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.errors import Code, problem
from control.domain.events import EventCode, NewEvent
from control.store import feed, jobs, records
from control.store.engine import first, tell
from control.store.tables import Entry, Grant, HopCode, Job, Share, User

GRANT_TOPIC: Final = "grant"
"""Hints carry the id of the person who may pass, or may no longer."""


@dataclass(frozen=True, slots=True)
class NewShare:
    """A share code about to be stored: its HMAC for look-up, itself sealed for the owner's eyes."""

    code_hmac: str
    code_sealed: str
    chosen: bool
    expires_at: float | None
    max_uses: int | None


async def set_share(session: AsyncSession, entry: Entry, new: NewShare, now: float) -> Share:
    """Shares an entry by a code. An earlier code stops working; grants that it gave stay."""
    share = await share_of(session, entry.id)
    if share is None:
        share = Share(entry_id=entry.id, created_at=now)
        session.add(share)
    share.code_hmac, share.code_sealed, share.chosen = new.code_hmac, new.code_sealed, new.chosen
    share.expires_at, share.max_uses, share.uses = new.expires_at, new.max_uses, 0
    await session.flush()
    await _tell_job(session, entry, EventCode.ENTRY_SHARED, now)
    return share


async def cancel_share(session: AsyncSession, entry: Entry, now: float) -> int:
    """Cancels sharing with all grants; returns the revision at which gateways know (0: nobody had redeemed)."""
    revision = await cancel(session, entry, now)
    await _tell_job(session, entry, EventCode.ENTRY_UNSHARED, now)
    return revision


async def cancel(session: AsyncSession, entry: Entry, now: float) -> int:
    """`cancel_share` for an entry that goes as a whole: without an event of its own."""
    await session.execute(delete(Share).where(Share.entry_id == entry.id))
    revisions = [await drop_grant(session, grant, now) for grant, _ in await grants(session, entry.id)]
    return max(revisions, default=0)


async def share_of(session: AsyncSession, entry_id: int) -> Share | None:
    """How an entry is shared."""
    return await first(session, select(Share).where(Share.entry_id == entry_id))


async def shared_among(session: AsyncSession, entry_ids: Sequence[int]) -> set[int]:
    """Which of these entries are shared."""
    return set(await session.scalars(select(Share.entry_id).where(Share.entry_id.in_(entry_ids))))


async def share_by_code(session: AsyncSession, code_hmac: str, entry_id: int | None) -> Share | None:
    """The share with this code. One that its owner chose is found only together with its entry."""
    rows = select(Share).where(Share.code_hmac == code_hmac)
    rows = rows.where(Share.chosen.is_(False)) if entry_id is None else rows.where(Share.entry_id == entry_id)
    return await first(session, rows)


async def redeem(session: AsyncSession, share: Share, user: User, now: float) -> Grant:
    """Lets `user` pass the shared entry. Redeeming again uses nothing up.

    Raises ProblemError `share_expired` or `share_used_up`.
    """
    if share.expires_at is not None and share.expires_at <= now:
        raise problem(Code.SHARE_EXPIRED)
    mine = select(Grant).where(Grant.entry_id == share.entry_id, Grant.user_id == user.id)
    grant = await session.scalar(mine)
    if grant is None:
        if share.max_uses is not None and share.uses >= share.max_uses:
            raise problem(Code.SHARE_USED_UP)
        share.uses += 1
        grant = Grant(entry_id=share.entry_id, user_id=user.id, redeemed_at=now)
        session.add(grant)
    grant.expires_at = share.expires_at
    await session.flush()
    await feed.put(session, records.grant(grant), now)
    await _touch_job(session, grant)
    return grant


async def grants(session: AsyncSession, entry_id: int) -> Sequence[tuple[Grant, User]]:
    """Who redeemed an entry's code, oldest first."""
    rows = await session.execute(
        select(Grant, User).join(User, User.id == Grant.user_id).where(Grant.entry_id == entry_id).order_by(Grant.id)
    )
    return [(grant, user) for grant, user in rows]


async def grants_of(session: AsyncSession, user_id: int, now: float) -> Sequence[tuple[Grant, Entry, Job]]:
    """What a person may pass thanks to share codes, newest first."""
    rows = await session.execute(
        select(Grant, Entry, Job)
        .join(Entry, Entry.id == Grant.entry_id)
        .join(Job, Job.id == Entry.job_id)
        .where(Grant.user_id == user_id, Grant.expires_at.is_(None) | (Grant.expires_at > now))
        .order_by(Grant.id.desc())
    )
    return [(grant, entry, job) for grant, entry, job in rows]


async def grant_for(session: AsyncSession, entry_id: int, user_id: int, now: float) -> Grant | None:
    """The grant by which a person may pass an entry now."""
    live = Grant.expires_at.is_(None) | (Grant.expires_at > now)
    return await first(session, select(Grant).where(Grant.entry_id == entry_id, Grant.user_id == user_id, live))


async def drop_grant(session: AsyncSession, grant: Grant, now: float) -> int:
    """Withdraws one grant; returns the revision at which gateways know."""
    await session.delete(grant)
    await _touch_job(session, grant)
    return await feed.drop(session, "grant", grant.id, now)


def hop_hash(code: str) -> str:
    """What is kept of a one-time code: its hex SHA-256. The code itself has 256 random bits."""
    return hashlib.sha256(code.encode()).hexdigest()


async def add_hop(
    session: AsyncSession,
    *,
    code_hash: str,
    entry_id: int,
    session_id: str,
    user_id: int,
    challenge: str,
    expires_at: float,
) -> None:
    """Stores a one-time code, bound to an entry and to the browser that knows the challenge's secret."""
    session.add(
        HopCode(
            code_hash=code_hash,
            entry_id=entry_id,
            session_id=session_id,
            user_id=user_id,
            challenge=challenge,
            expires_at=expires_at,
        )
    )
    await session.flush()


async def take_hop(
    session: AsyncSession, *, code_hash: str, entry_id: int, challenge: str, now: float
) -> tuple[int, str] | None:
    """Uses a code up and returns (user id, session id); None when it is not good for this entry and browser.

    A code that is shown with the wrong entry or challenge is used up as well: someone else has it.
    """
    row = (
        await session.execute(
            delete(HopCode)
            .where(HopCode.code_hash == code_hash)
            .returning(HopCode.entry_id, HopCode.challenge, HopCode.expires_at, HopCode.user_id, HopCode.session_id)
        )
    ).one_or_none()
    if row is None or (row.entry_id, row.challenge) != (entry_id, challenge) or row.expires_at <= now:
        return None
    return row.user_id, row.session_id


async def _tell_job(session: AsyncSession, entry: Entry, code: EventCode, now: float) -> None:
    job = await session.get_one(Job, entry.job_id)
    await jobs.add_event(session, job, NewEvent(code, {"entry": entry.name}), now)


async def _touch_job(session: AsyncSession, grant: Grant) -> None:
    tell(session, GRANT_TOPIC, str(grant.user_id))
    entry = await session.get_one(Entry, grant.entry_id)
    await jobs.touch(session, await session.get_one(Job, entry.job_id))
