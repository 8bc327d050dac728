"""Jobs are brought to what is wanted of them, step by step, whatever was cut short before."""

from __future__ import annotations

import asyncio

import pytest

from control.domain.jobs.observed import Observed, Phase
from control.domain.jobs.states import State, Wanted
from control.domain.jobs.steps import asked_handle
from control.store import jobs, leases
from control.store.leases import LeaseLostError
from control.store.tables import Job
from tests.control.work.conftest import Loops


async def want(loops: Loops, name: str, wanted: Wanted) -> None:
    """Its owner wants this."""
    async with loops.db.write() as session:
        await jobs.want(session, await session.get_one(Job, name), wanted, "alice", loops.clock.now())


async def test_queued_job_is_started_and_seen_running(loops: Loops) -> None:
    """Scheduled, created, started: each with its event."""
    name = await loops.submit()
    row = await loops.settle(name)
    assert row.state is State.RUNNING
    assert row.node == "n1"
    assert await loops.events(name) == ["Submitted", "Scheduled", "Created", "Started"]
    assert await loops.jobs.reconcile("none") is None


async def test_wanted_states_are_brought_about(loops: Loops) -> None:
    """Suspended, running again, closed."""
    name = await loops.submit()
    await loops.settle(name)
    for wanted, state in ((Wanted.SUSPENDED, State.SUSPENDED), (Wanted.RUNNING, State.RUNNING)):
        await want(loops, name, wanted)
        assert (await loops.settle(name)).state is state
    await want(loops, name, Wanted.CLOSED)
    assert (await loops.settle(name)).state is State.CANCELLED
    assert [verb for verb in loops.runtime.asked if verb != "probe"] == ["start", "suspend", "resume", "stop"]


async def test_job_closed_before_its_launch_never_reaches_the_engine(loops: Loops) -> None:
    """Cancelled without a call."""
    name = await loops.submit()
    await want(loops, name, Wanted.CLOSED)
    assert (await loops.settle(name)).state is State.CANCELLED
    assert loops.runtime.asked == []


async def test_job_closed_while_its_launch_was_cut_short_is_stopped(loops: Loops) -> None:
    """The engine may have heard: it is asked to stop what it may have started."""
    name = await loops.submit()
    async with loops.db.write() as session:
        (await session.get_one(Job, name)).handle = asked_handle(name)
    await want(loops, name, Wanted.CLOSED)
    assert (await loops.settle(name)).state is State.CANCELLED
    assert "stop" in loops.runtime.asked
    assert "start" not in loops.runtime.asked


async def test_launch_that_was_cut_short_is_asked_for_again(loops: Loops) -> None:
    """Asked, but not known whether it was heard."""
    name = await loops.submit()
    async with loops.db.write() as session:
        (await session.get_one(Job, name)).handle = asked_handle(name)
    assert (await loops.settle(name)).state is State.RUNNING


async def test_engine_that_is_away_is_asked_again(loops: Loops) -> None:
    """No step is lost, no state invented."""
    name = await loops.submit()
    loops.runtime.away = True
    assert (await loops.jobs.reconcile(name) or 0) > 0
    assert (await loops.row(name)).state is State.CREATING
    loops.runtime.away = False
    assert (await loops.settle(name)).state is State.RUNNING


async def test_loop_finds_jobs_by_hint_and_by_looking(loops: Loops) -> None:
    """One submitted before it ran, one while it runs."""
    first = await loops.submit()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        running = group.create_task(loops.jobs.run())
        second = await loops.submit()
        for name in (first, second):
            while (await loops.row(name)).state is not State.RUNNING:
                seen = loops.db.hints.generation(jobs.TOPIC)
                if (await loops.row(name)).state is not State.RUNNING:
                    await loops.db.hints.wait(jobs.TOPIC, seen)
        running.cancel()


async def test_nothing_is_written_without_the_lease(loops: Loops) -> None:
    """A process that was overtaken acts once more at most, and writes nothing."""
    name = await loops.submit()
    async with loops.db.write() as session:
        await leases.take(session, "work", "test", now=loops.clock.now(), term_s=10)
    with pytest.raises(LeaseLostError):
        await loops.jobs.reconcile(name)
    assert (await loops.row(name)).state is State.QUEUED
    loops.runtime.seen[name] = Observed(Phase.RUNNING)
