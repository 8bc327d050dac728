"""One action, from the right to the audit row: the write transaction that every changing action runs in.

A refused action changes nothing but leaves its own audit row, with the Problem's code as the outcome.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.context import Context, Person
from control.domain.errors import ProblemError
from control.store import audit, feed

SETTLE_S: Final = 1.0
"""How long a withdrawal waits for the gateways to confirm."""


@dataclass(slots=True)
class Act:
    """An action under way: its transaction, its instant, and what its audit row will say."""

    session: AsyncSession
    now: float
    subject: str
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What became of a withdrawn right: gateways that have not confirmed, and when they stop at the latest."""

    pending: tuple[str, ...]
    stops_by: float | None


@asynccontextmanager
async def acting(ctx: Context, who: Person, action: str, subject: str) -> AsyncIterator[Act]:
    """The write transaction of `action` ("job.close") on `subject` ("job:jupyter-17"), committed with its audit row.

    Nothing in the block may wait for anything but the database.
    """
    now = ctx.now()
    try:
        async with ctx.db.write() as session:
            act = Act(session, now, subject)
            yield act
            await _note(session, who, action, act, "done")
    except ProblemError as refusal:
        async with ctx.db.write() as session:
            await _note(session, who, action, Act(session, now, subject), refusal.problem.code.value)
        raise


async def reached(act: Act) -> int:
    """The revision of what the action wrote: what it gave is good at a gateway that holds it."""
    return await feed.latest(act.session)


async def settle(ctx: Context, revision: int) -> Withdrawal:
    """Waits up to SETTLE_S until every live gateway holds `revision`: a right given is good, one taken away is gone."""
    pending = await ctx.gateways.settled(revision, SETTLE_S) if revision else ()
    # A gateway that does not hear us stops serving a snapshot that is too old.
    return Withdrawal(pending, ctx.now() + ctx.settings.max_stale_s if pending else None)


async def _note(session: AsyncSession, who: Person, action: str, act: Act, outcome: str) -> None:
    await audit.record(
        session,
        at=act.now,
        user_id=who.id,
        user_name=who.name,
        action=action,
        subject=act.subject,
        address=who.address,
        outcome=outcome,
        detail=act.detail,
    )
