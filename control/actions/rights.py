"""Who may do what: every permission rule of the API, one function for each.

What a person may not even see is answered with NOT_FOUND, so that ids tell a stranger nothing.
"""

from __future__ import annotations

import re
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.context import Person
from control.domain.errors import Code, problem
from control.store import entries, jobs, people, shares
from control.store.tables import Entry, Job, User
from gateway.contract.routes import Level

EVERYONE: Final = "*"
"""Stands for all people, where administrators ask for what belongs to somebody."""
_LABEL: Final = re.compile(r"[0-9a-f]{32}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)


async def visible_job(session: AsyncSession, who: Person, job_id: str) -> Job:
    """A job that `who` may see and close: its owner and administrators."""
    job = await jobs.job(session, job_id)
    if job is None or not (job.owner_id == who.id or who.is_admin):
        raise problem(Code.NOT_FOUND, what=job_id)
    return job


async def own_job(session: AsyncSession, who: Person, job_id: str) -> Job:
    """A job that `who` may change: its owner. An administrator sees it, but opens no doors into it."""
    job = await visible_job(session, who, job_id)
    if job.owner_id != who.id:
        raise problem(Code.FORBIDDEN)
    return job


async def own_entry(session: AsyncSession, who: Person, reference: str) -> tuple[Entry, Job]:
    """An entry that `who` may change and share: the owner of its job."""
    entry, job = await _entry(session, reference)
    if job.owner_id == who.id:
        return entry, job
    if who.is_admin:
        raise problem(Code.FORBIDDEN)
    raise problem(Code.NOT_FOUND, what=reference)


async def removable_entry(session: AsyncSession, who: Person, reference: str) -> tuple[Entry, Job]:
    """An entry that `who` may take away: the owner of its job, and administrators."""
    entry, job = await _entry(session, reference)
    if job.owner_id != who.id and not who.is_admin:
        raise problem(Code.NOT_FOUND, what=reference)
    return entry, job


async def passable_entry(session: AsyncSession, who: Person, reference: str, now: float) -> tuple[Entry, Job]:
    """An entry that `who` may pass, by the same rules as the gateway: owner, share guest, or by its level.

    Raises ProblemError ENTRY_FORBIDDEN: that an entry is there is no secret to who knows its label.
    """
    entry, job = await _entry(session, reference)
    if job.owner_id == who.id or entry.level in (Level.LOGIN, Level.OPEN):
        return entry, job
    if await shares.grant_for(session, entry.id, who.id, now) is None:
        raise problem(Code.ENTRY_FORBIDDEN)
    return entry, job


async def account_named(session: AsyncSession, reference: str) -> User:
    """The account with this number or name, for administrators (the route table lets nobody else ask)."""
    found = await people.user_by_name(session, reference)
    if found is None and _NUMBER.fullmatch(reference):
        found = await people.user(session, int(reference))
    if found is None:
        raise problem(Code.NOT_FOUND, what=reference)
    return found


async def entry_named(session: AsyncSession, reference: str) -> Entry | None:
    """The entry with this id or label, whoever it belongs to."""
    if _LABEL.fullmatch(reference):
        return await entries.by_label(session, reference)
    return await entries.entry(session, int(reference)) if _NUMBER.fullmatch(reference) else None


async def _entry(session: AsyncSession, reference: str) -> tuple[Entry, Job]:
    entry = await entry_named(session, reference)
    if entry is None:
        raise problem(Code.NOT_FOUND, what=reference)
    return entry, await session.get_one(Job, entry.job_id)


async def person_id(session: AsyncSession, who: Person, name: str | None) -> int | None:
    """Whose things are asked for: one's own, or for administrators those of a name; None is everybody's.

    Raises ProblemError ADMIN_ONLY, or NOT_FOUND for an unknown name.
    """
    if name is None or name == who.name:
        return who.id
    if not who.is_admin:
        raise problem(Code.ADMIN_ONLY)
    return None if name == EVERYONE else (await account_named(session, name)).id
