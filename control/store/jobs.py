"""Jobs and their events. `transition` is the one function that changes a state.

It writes the state, its instants and conditions, its Event and what gateways hold, in the caller's
transaction: there is no moment at which one of them tells another story.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain import conditions
from control.domain.errors import Code, problem
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.names import job_id
from control.domain.jobs.spec import JobSpec
from control.domain.jobs.states import ENDED, LIVE, State, Wanted
from control.store import counters, feed, records
from control.store.domain_tables import EntryDomain
from control.store.engine import first, tell
from control.store.tables import Entry, Event, Job, User

TOPIC: Final = "job"
"""Hints carry the job's id."""
EVENTS_PER_JOB: Final = 1000
_SCHEDULED: Final = frozenset({State.CREATING, State.RUNNING, State.SUSPENDED, State.FAULT})


async def add_job(session: AsyncSession, owner: User, spec: JobSpec, now: float) -> Job:
    """A queued job with its Submitted event. The same `client_key` of the same owner gives the same job.

    Entries are added by the caller (`store/entries.py`) in the same transaction.
    """
    if spec.client_key is not None and (same := await by_client_key(session, owner.id, spec.client_key)) is not None:
        return same
    number = await counters.next_number(session, counters.JOB)
    name = job_id(spec.name, number)
    asked = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec) if field.name != "entries"}
    asked |= {"command": list(spec.command), "readonly": list(spec.readonly), "env": dict(spec.env)}
    job = Job(
        **asked,
        id=name,
        number=number,
        owner_id=owner.id,
        work_dir=f"{spec.home}/jobs/{name}",
        wanted=Wanted.RUNNING,
        state=State.QUEUED,
        submitted_at=now,
        reason_params={},
        conditions=[],
        node="",
        engine_heard_at=0.0,
        forgotten=False,
        revision=0,
    )
    session.add(job)
    _set_conditions(job, now)
    await session.flush()
    await add_event(session, job, NewEvent(EventCode.SUBMITTED, {"user": owner.name}), now)
    await publish(session, job, now)
    return job


async def transition(session: AsyncSession, job: Job, state: State, event: NewEvent, now: float) -> None:
    """Moves `job` to `state` because of `event`, which becomes the state's reason. `now` is when that happened.

    An ended job never changes its state again: such a call is a fault of the caller (ValueError).
    """
    if job.state in ENDED:
        raise ValueError(f"job {job.id} has ended as {job.state} and cannot become {state}")
    event = _of_job(event, job)
    job.state = state
    job.reason_code, job.reason_params = event.code, event.params
    if state in _SCHEDULED and job.scheduled_at is None:
        job.scheduled_at = now
    if state is State.RUNNING and job.started_at is None:
        job.started_at = now
    if state in ENDED:
        job.ended_at = now if job.ended_at is None else job.ended_at
        job.released_at = now if job.released_at is None else job.released_at
        await _let_go(session, job)
    _set_conditions(job, now)
    await session.flush()
    await add_event(session, job, event, now)
    await publish(session, job, now)


async def want(session: AsyncSession, job: Job, wanted: Wanted, by: str, now: float) -> int:
    """Writes down what is wanted of a live job; `work/jobs.py` brings it about.

    Returns the revision of the gateways' record of the job: closing cuts its visits from then on.

    Raises ProblemError `job_ended`, or `job_state` for suspending what does not run.
    """
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)
    if wanted is not Wanted.CLOSED and (job.wanted is Wanted.CLOSED or not _may(wanted, job.state)):
        raise problem(Code.JOB_STATE, job=job.id, state=job.state)
    if wanted is Wanted.CLOSED and job.wanted is not Wanted.CLOSED:
        job.closing_at, job.closing_by = now, by
        await add_event(session, job, NewEvent(EventCode.CLOSING, {"user": by}), now)
    job.wanted = wanted
    await touch(session, job)
    return await publish(session, job, now)


def refuse_ended(job: Job) -> None:
    """Raises ProblemError `job_ended` for a job that is over."""
    if job.state in ENDED:
        raise problem(Code.JOB_ENDED, job=job.id)


async def close_ended(session: AsyncSession, job: Job, by: str, now: float) -> None:
    """Moves an ended job to history; its state stays. Closing it again changes nothing."""
    if job.closed_at is None:
        job.closed_at = now
        await add_event(session, job, NewEvent(EventCode.CLOSED, {"user": by}), now)


async def add_event(session: AsyncSession, job: Job, event: NewEvent, now: float) -> None:
    """Stores an event of a job."""
    session.add(Event(job_id=job.id, at=now, kind=event.kind, code=event.code, params=event.params))
    await touch(session, job)


async def touch(session: AsyncSession, job: Job) -> None:
    """Tells those who watch jobs live that something about this one changed."""
    job.revision = await counters.next_number(session, counters.LIVE)
    await session.flush()
    tell(session, TOPIC, job.id)


async def publish(session: AsyncSession, job: Job, now: float) -> int:
    """Brings the gateways' record of the job up to date and returns its revision (0: they were told to forget it)."""
    if job.forgotten:
        return 0
    owner = await session.get_one(User, job.owner_id)
    return await feed.put(session, records.job(job, owner.name), now)


async def job(session: AsyncSession, name: str) -> Job | None:
    """The job with this id."""
    return await session.get(Job, name)


async def by_client_key(session: AsyncSession, owner_id: int, client_key: str) -> Job | None:
    """The job that this owner submitted with this key."""
    return await first(session, select(Job).where(Job.owner_id == owner_id, Job.client_key == client_key))


async def live_ids(session: AsyncSession) -> Sequence[str]:
    """The ids of all jobs that have not ended, oldest first."""
    return (await session.scalars(select(Job.id).where(Job.state.in_(LIVE)).order_by(Job.number))).all()


async def live(session: AsyncSession) -> Sequence[Job]:
    """All jobs that have not ended, oldest first."""
    return (await session.scalars(select(Job).where(Job.state.in_(LIVE)).order_by(Job.number))).all()


async def live_count(session: AsyncSession, owner_id: int) -> int:
    """How many of a person's jobs have not ended."""
    rows = select(func.count()).select_from(Job).where(Job.owner_id == owner_id, Job.state.in_(LIVE))
    return await session.scalar(rows) or 0


async def changed_after(session: AsyncSession, revision: int, owner_id: int | None, limit: int = 200) -> Sequence[Job]:
    """Jobs changed after a live revision, in that order; of everyone when `owner_id` is None."""
    rows = select(Job).where(Job.revision > revision).order_by(Job.revision).limit(limit)
    if owner_id is not None:
        rows = rows.where(Job.owner_id == owner_id)
    return (await session.scalars(rows)).all()


async def forget_ended(session: AsyncSession, before: float, now: float) -> int:
    """Takes jobs that ended before `before` off the gateways, with their entries; returns how many. Rows stay."""
    ended = select(Job).where(Job.state.in_(ENDED), Job.forgotten.is_(False), Job.ended_at < before)
    rows = (await session.scalars(ended)).all()
    for job in rows:
        for entry_id in await session.scalars(select(Entry.id).where(Entry.job_id == job.id)):
            await feed.drop(session, "entry", entry_id, now)
        await feed.drop(session, "job", job.id, now)
        job.forgotten = True
    return len(rows)


async def events(session: AsyncSession, name: str) -> Sequence[Event]:
    """The events of a job, oldest first; of very many the newest."""
    rows = select(Event).where(Event.job_id == name).order_by(Event.id.desc()).limit(EVENTS_PER_JOB)
    return (await session.scalars(rows)).all()[::-1]


def _set_conditions(job: Job, now: float) -> None:
    job.conditions = conditions.to_plain(
        conditions.derive(
            job.state,
            container=job.id,
            scheduled=job.scheduled_at is not None,
            previous=conditions.from_plain(job.conditions),
            now=now,
        )
    )


def _may(wanted: Wanted, state: State) -> bool:
    return state in {State.RUNNING, State.SUSPENDED} and wanted in {Wanted.RUNNING, Wanted.SUSPENDED}


def _of_job(event: NewEvent, job: Job) -> NewEvent:
    """The start is told of the job's container; verdicts know no names."""
    return (
        dataclasses.replace(event, params={"job": job.id} | event.params) if event.code is EventCode.STARTED else event
    )


async def _let_go(session: AsyncSession, job: Job) -> None:
    """Random ports and domains serve others from now on; the records of the rest stay, to say that it ended."""
    now = job.ended_at or 0.0
    rows = await session.scalars(select(Entry).where(Entry.job_id == job.id, Entry.held_port.is_not(None)))
    for entry in rows.all():
        entry.held_port = None
        await feed.drop(session, "entry", entry.id, now)
    own = select(EntryDomain).join(Entry, Entry.id == EntryDomain.entry_id).where(Entry.job_id == job.id)
    for domain in (await session.scalars(own)).all():
        domain.held = None
        await feed.drop(session, "certificate", domain.certificate_id, now)
        await feed.drop(session, "entry", domain.entry_id, now)
