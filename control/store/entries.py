"""Access entries of jobs, and what gateways hold of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.entries import AUTO_PORTS, Doors, EntrySpec, Taken, clash
from control.domain.errors import Code, ProblemError, problem
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import ENDED, LIVE
from control.domain.limits import print_limits
from control.store import clients, domains, feed, jobs, records, shares
from control.store.engine import first
from control.store.tables import Entry, Job, Token
from gateway.contract.routes import EntryLimits, Level, PortKind, Service


async def add_entry(
    session: AsyncSession, job: Job, spec: EntrySpec, doors: Doors, now: float, *, random_port: int | None = None
) -> Entry:
    """An entry of `job`. A spec with a random port needs `random_port`, reserved beforehand.

    Raises ProblemError `job_ended`, `entry_name_taken`, `target_port_taken` or `no_free_port`.
    """
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    if (found := clash(spec, await taken(session, job.id))) is not None:
        raise ProblemError(found)
    label = secrets.token_hex(16)
    held = _held(spec, random_port)
    entry = Entry(
        job_id=job.id,
        label=label,
        name=spec.name,
        protocol=spec.protocol,
        level=spec.level,
        port_kind=spec.port_kind,
        port=doors.fixed[spec.protocol] if held is None else held,
        held_port=held,
        host=doors.host_of(label),
        target_port=await _target_port(session, job, spec),
        service=spec.service,
        app_protocol=spec.app_protocol,
        app_pin=spec.app_pin,
        cors_origins=list(spec.cors_origins),
        limits=print_limits(spec.limits),
        created_at=now,
        port_lost=False,
    )
    session.add(entry)
    await session.flush()
    await publish(session, entry, job, now)
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_ADDED, {"entry": entry.name}), now)
    return entry


async def set_level(session: AsyncSession, entry: Entry, level: Level, now: float) -> int:
    """Changes who may pass and returns the revision at which gateways know. Raises ProblemError `job_ended`."""
    job = await session.get_one(Job, entry.job_id)
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    entry.level, entry.ready_at = level, None
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_CHANGED, {"entry": entry.name}), now)
    return await publish(session, entry, job, now)


async def set_origins(session: AsyncSession, entry: Entry, origins: Sequence[str], now: float) -> int:
    """Changes which other sites' pages may call it; returns the revision at which gateways know.

    Raises ProblemError `job_ended`.
    """
    job = await session.get_one(Job, entry.job_id)
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    entry.cors_origins = list(origins)
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_CHANGED, {"entry": entry.name}), now)
    return await publish(session, entry, job, now)


async def set_limits(session: AsyncSession, entry: Entry, limits: EntryLimits | None, now: float) -> int:
    """Changes what its owner allows at most; returns the revision at which gateways know.

    Raises ProblemError `job_ended`.
    """
    job = await session.get_one(Job, entry.job_id)
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    entry.limits = print_limits(limits)
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_CHANGED, {"entry": entry.name}), now)
    return await publish(session, entry, job, now)


async def set_pin(session: AsyncSession, entry: Entry, pin: str | None, now: float) -> int:
    """Changes the certificate that its https app must show; returns the revision at which gateways know.

    Raises ProblemError `job_ended`.
    """
    job = await session.get_one(Job, entry.job_id)
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    entry.app_pin = pin
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_CHANGED, {"entry": entry.name}), now)
    return await publish(session, entry, job, now)


async def remove_entry(session: AsyncSession, entry: Entry, now: float) -> int:
    """Takes an entry away with all that passes it by name; returns the revision at which gateways know."""
    job = await session.get_one(Job, entry.job_id)
    await shares.cancel(session, entry, now)
    for token in (await session.scalars(select(Token).where(Token.entry_id == entry.id))).all():
        await session.delete(token)
        await feed.drop(session, "token", token.id, now)
    await clients.drop_of_entry(session, entry.id, now)
    await domains.drop_of_entry(session, entry.id, now)
    await session.delete(entry)
    await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_REMOVED, {"entry": entry.name}), now)
    return await feed.drop(session, "entry", entry.id, now)


async def publish(session: AsyncSession, entry: Entry, job: Job, now: float) -> int:
    """Brings the gateways' record of the entry up to date and returns its revision.

    They do not know an entry whose domain is not proved to be its owner's.
    """
    await session.flush()
    domain = await domains.of_entry(session, entry.id)
    if domain is not None and not domain.serves:
        return await feed.drop(session, "entry", entry.id, now)
    return await feed.put(session, records.entry(entry, job), now)


async def entry(session: AsyncSession, entry_id: int) -> Entry | None:
    """The entry with this id."""
    return await session.get(Entry, entry_id)


async def by_label(session: AsyncSession, label: str) -> Entry | None:
    """The entry with this label."""
    return await first(session, select(Entry).where(Entry.label == label))


async def of_job(session: AsyncSession, job_id: str) -> Sequence[Entry]:
    """A job's entries in the order in which they were added."""
    return (await session.scalars(select(Entry).where(Entry.job_id == job_id).order_by(Entry.id))).all()


async def of_jobs(session: AsyncSession, job_ids: Sequence[str]) -> dict[str, list[Entry]]:
    """The entries of several jobs."""
    found: dict[str, list[Entry]] = {job_id: [] for job_id in job_ids}
    for each in await session.scalars(select(Entry).where(Entry.job_id.in_(job_ids)).order_by(Entry.id)):
        found[each.job_id].append(each)
    return found


async def taken(session: AsyncSession, job_id: str) -> list[Taken]:
    """The names and target ports that a job's entries hold."""
    return [Taken(each.name, each.target_port) for each in await of_job(session, job_id)]


async def held_ports(session: AsyncSession) -> set[int]:
    """All random ports that are held for entries."""
    rows = await session.scalars(select(Entry.held_port).where(Entry.held_port.is_not(None)))
    return {port for port in rows if port is not None}


def _held(spec: EntrySpec, random_port: int | None) -> int | None:
    if spec.port_kind is PortKind.FIXED:
        return None
    if random_port is None:
        raise ValueError("an entry with a random port needs one reserved")
    return random_port


async def _target_port(session: AsyncSession, job: Job, spec: EntrySpec) -> int | None:
    if spec.target_port is not None or spec.service is Service.TERMINAL:
        return spec.target_port
    rows = await session.scalars(
        select(Entry.target_port).join(Job).where(Job.owner_id == job.owner_id, Job.state.in_(LIVE))
    )
    used = set(rows)
    free = [port for port in AUTO_PORTS if port not in used]
    if not free:
        raise problem(Code.NO_FREE_PORT, ports=f"{AUTO_PORTS.start}-{AUTO_PORTS.stop - 1}")
    return secrets.choice(free)
