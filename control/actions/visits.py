"""Live connections: who is at an entry, and ending one of them."""

from __future__ import annotations

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import SETTLE_S, Withdrawal, acting
from control.actions.context import Context, Person
from control.actions.rights import person_id, removable_entry
from control.domain.errors import Code, problem
from control.domain.visits import OpenVisit
from control.store import entries
from control.store.tables import Job


async def of_entry(ctx: Context, who: Person, reference: str) -> list[OpenVisit]:
    """The open visits of an entry, for its owner and administrators. Raises ProblemError NOT_FOUND."""
    async with ctx.db.read() as session:
        entry, _ = await removable_entry(session, who, reference)
    return ctx.visits.of_entry(entry.id)


async def of_person(ctx: Context, who: Person, name: str | None) -> list[OpenVisit]:
    """The open visits that `who` pays wherever; `name` (for administrators) is another person, or EVERYONE.

    Raises ProblemError ADMIN_ONLY, or NOT_FOUND for an unknown name.
    """
    async with ctx.db.read() as session:
        user_id = await person_id(session, who, name)
    return ctx.visits.of_user(user_id)


async def cut(ctx: Context, who: Person, visit_id: str) -> Withdrawal:
    """Ends one visit, by the owner of its entry or home or an administrator; the person may come again.

    Answers once it has ended, or after SETTLE_S with the gateway that has not said so. Raises ProblemError
    NOT_FOUND for a visit that is not open, or not theirs to see.
    """
    found = ctx.visits.find(visit_id)
    if found is None:
        raise problem(Code.NOT_FOUND, what=visit_id)
    visit = found.visit
    # The door to a home is no entry: gateways give it the number of its person, below zero.
    subject = f"entry:{visit.entry_id}" if visit.entry_id > 0 else f"user:{-visit.entry_id}"
    async with acting(ctx, who, "visit.cut", subject) as act:
        owner_id = await _owner_id(act.session, visit.entry_id)
        if owner_id is None or not (owner_id == who.id or who.is_admin):
            raise problem(Code.NOT_FOUND, what=visit_id)
        act.detail |= {"visit": visit.id, "user": visit.user_name, "address": visit.address, "gateway": found.gateway}
    ended = await ctx.visits.cut(visit_id, SETTLE_S)
    return Withdrawal(() if ended else (found.gateway,), None)


async def _owner_id(session: AsyncSession, entry_id: int) -> int | None:
    if entry_id < 0:
        return -entry_id
    entry = await entries.entry(session, entry_id)
    job = None if entry is None else await session.get(Job, entry.job_id)
    return None if job is None else job.owner_id
