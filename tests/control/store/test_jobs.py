"""Jobs change their state in one place, with their event and record, and never after their end."""

from __future__ import annotations

import pytest

from control.domain.conditions import from_plain
from control.domain.entries import EntrySpec, ssh_default
from control.domain.errors import Code, ProblemError
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State, Wanted
from control.store import counters, entries, feed, jobs
from control.store.engine import Database
from control.store.tables import Job, Record
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.store.conftest import DOORS, AddJob, AddUser


async def test_submitted_job_is_queued_with_its_event_and_record(
    db: Database, add_user: AddUser, add_job: AddJob
) -> None:
    """And with its record, all in one transaction."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        assert job.id == "web-1"
        assert job.work_dir == "/homes/alice/jobs/web-1"
        assert job.state is State.QUEUED
        assert [event.code for event in await jobs.events(session, job.id)] == [EventCode.SUBMITTED]
        assert await feed.revision_of(session, "job", job.id) is not None


async def test_same_client_key_gives_the_same_job(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """For its owner; another person's key is another's."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        first = await add_job(session, alice, client_key="k")
        assert (await add_job(session, alice, client_key="k")).id == first.id
        assert (await add_job(session, bob, client_key="k")).id != first.id


async def test_life_of_a_job_sets_its_times_once(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Scheduled, started, ended, released: each at its own transition."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        await jobs.transition(session, job, State.CREATING, NewEvent(EventCode.SCHEDULED), 11.0)
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 12.0)
        await jobs.transition(session, job, State.UNKNOWN, NewEvent(EventCode.UNREACHABLE), 13.0)
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.RECOVERED), 14.0)
        assert [condition.ok for condition in from_plain(job.conditions)] == [True] * 4
        await jobs.transition(session, job, State.FAILED, NewEvent(EventCode.FAILED, {"exit_code": 3}), 15.0)
    assert (job.scheduled_at, job.started_at, job.ended_at, job.released_at) == (11.0, 12.0, 15.0, 15.0)
    assert (job.reason_code, job.reason_params) == (EventCode.FAILED, {"exit_code": 3})


async def test_transition_rolls_back_as_a_whole(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """State, event and record: none of them without the others."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        before = await feed.latest(session)

    async def schedule_and_fail() -> None:
        async with db.write() as session:
            row = await session.get_one(Job, job.id)
            await jobs.transition(session, row, State.CREATING, NewEvent(EventCode.SCHEDULED), 11.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await schedule_and_fail()
    async with db.read() as session:
        row = await jobs.job(session, job.id)
        assert row is not None
        assert row.state is State.QUEUED
        assert await feed.latest(session) == before
        assert len(await jobs.events(session, job.id)) == 1


async def test_ended_job_never_changes_its_state(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Such a call is a fault; wanting something of it is a Problem; closing it moves it to history."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 11.0)
        with pytest.raises(ValueError, match="has ended"):
            await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 12.0)
        with pytest.raises(ProblemError) as caught:
            await jobs.want(session, job, Wanted.CLOSED, "alice", 12.0)
        assert caught.value.problem.code is Code.JOB_ENDED
        await jobs.close_ended(session, job, "alice", 13.0)
        await jobs.close_ended(session, job, "alice", 14.0)
        assert job.closed_at == 13.0
        assert job.state is State.FINISHED


async def test_the_start_is_stored_with_its_container(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """The event and the state's reason name the job: whoever reads the rows needs nothing else."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 11.0)
        assert job.reason_params == {"job": job.id}
        assert (await jobs.events(session, job.id))[-1].params == {"job": job.id}


async def test_closing_is_over_for_gateways_at_once(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Routes go first, the process after; and a closing job cannot be resumed."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 11.0)
        await jobs.want(session, job, Wanted.CLOSED, "alice", 12.0)
        await jobs.want(session, job, Wanted.CLOSED, "bob", 13.0)
        assert (job.closing_at, job.closing_by) == (12.0, "alice")
        record = await session.get_one(Record, ("job", job.id))
        assert record.payload is not None
        assert (record.payload["phase"], record.payload["state"]) == ("ended", "running")
        with pytest.raises(ProblemError) as caught:
            await jobs.want(session, job, Wanted.RUNNING, "alice", 14.0)
        assert caught.value.problem.code is Code.JOB_STATE


async def test_only_what_runs_is_suspended(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """A queued job is not."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        with pytest.raises(ProblemError):
            await jobs.want(session, job, Wanted.SUSPENDED, "alice", 11.0)
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 12.0)
        await jobs.want(session, job, Wanted.SUSPENDED, "alice", 13.0)
        assert job.wanted is Wanted.SUSPENDED


async def test_end_gives_random_ports_back_and_keeps_fixed_entries(
    db: Database, add_user: AddUser, add_job: AddJob
) -> None:
    """A fixed entry goes on saying that its job has ended; a random port serves others."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        fixed = await entries.add_entry(session, job, ssh_default(), DOORS, 10.0)
        spec = EntrySpec("raw", Protocol.TCP, Level.OPEN, 5000, PortKind.RANDOM)
        loose = await entries.add_entry(session, job, spec, DOORS, 10.0, random_port=40001)
        await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 11.0)
        assert await entries.held_ports(session) == set()
        assert await feed.revision_of(session, "entry", fixed.id) is not None
        assert await feed.revision_of(session, "entry", loose.id) is None
        assert await jobs.forget_ended(session, 11.0, 20.0) == 0
        assert await jobs.forget_ended(session, 12.0, 20.0) == 1
        assert await feed.revision_of(session, "entry", fixed.id) is None
        assert await jobs.publish(session, job, 21.0) == 0


async def test_every_change_raises_the_live_revision(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Who watches from a revision sees each changed job once, their own only."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        mine, other = await add_job(session, alice), await add_job(session, bob)
        seen = await counters.current(session, counters.LIVE)
        await jobs.add_event(session, mine, NewEvent(EventCode.STARTED), 11.0)
        await jobs.touch(session, other)
        assert [job.id for job in await jobs.changed_after(session, seen, alice.id)] == [mine.id]
        assert [job.id for job in await jobs.changed_after(session, seen, None)] == [mine.id, other.id]


async def test_live_jobs_are_told_oldest_first(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Ended ones are not among them."""
    async with db.write() as session:
        alice = await add_user(session)
        first, second, third = [await add_job(session, alice) for _ in range(3)]
        await jobs.transition(session, second, State.CANCELLED, NewEvent(EventCode.CANCELLED), 11.0)
        assert list(await jobs.live_ids(session)) == [first.id, third.id]
        assert [job.id for job in await jobs.live(session)] == [first.id, third.id]
        assert await jobs.live_count(session, alice.id) == 2


async def test_of_very_many_events_the_newest_are_shown(
    db: Database, add_user: AddUser, add_job: AddJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oldest of them first."""
    monkeypatch.setattr(jobs, "EVENTS_PER_JOB", 2)
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        await jobs.add_event(session, job, NewEvent(EventCode.SCHEDULED), 11.0)
        await jobs.add_event(session, job, NewEvent(EventCode.STARTED), 12.0)
        assert [event.at for event in await jobs.events(session, job.id)] == [11.0, 12.0]
