"""Looks at jobs: batches, silence, absence, and answers that were overtaken."""

from __future__ import annotations

from control.domain.jobs.observed import Cause, EngineEvent, Observed, Phase
from control.domain.jobs.states import State
from control.domain.jobs.verdict import UNKNOWN_AFTER_S, VANISHED_AFTER_S
from control.runtimes.runtime import PROBE_JOBS
from tests.control.work.conftest import Loops


async def running(loops: Loops) -> str:
    """A job that runs."""
    name = await loops.submit()
    assert (await loops.settle(name)).state is State.RUNNING
    return name


async def test_end_is_told_with_its_own_time_and_code(loops: Loops) -> None:
    """When it happened, not when it was seen."""
    name = await running(loops)
    loops.runtime.seen[name] = Observed(Phase.ENDED, ended_at=900.0, exit_code=3, cause=Cause.EXIT)
    await loops.probe.look_at_all()
    row = await loops.row(name)
    assert (row.state, row.ended_at, row.exit_code) == (State.FAILED, 900.0, 3)
    await loops.probe.look_at_all()
    assert (await loops.events(name))[-1] == "Failed"


async def test_job_of_a_blink_has_started_before_it_ended(loops: Loops) -> None:
    """It ended before the first look, and is still told as a whole."""
    name = await loops.submit()
    blink = Observed(Phase.ENDED, started_at=800.0, ended_at=900.0, exit_code=0, cause=Cause.EXIT)
    loops.runtime.seen[name] = blink
    row = await loops.settle(name)
    assert (row.state, row.started_at, row.ended_at) == (State.FINISHED, 800.0, 900.0)
    assert (await loops.events(name))[-2:] == ["Started", "Finished"]


async def test_silence_is_unknown_after_a_while_and_an_answer_ends_it(loops: Loops) -> None:
    """Then the true state again."""
    name = await running(loops)
    loops.runtime.away = True
    await loops.probe.look_at_all()
    assert (await loops.row(name)).state is State.RUNNING
    loops.clock.seconds += UNKNOWN_AFTER_S
    await loops.probe.look_at_all()
    assert (await loops.row(name)).state is State.UNKNOWN
    loops.runtime.away = False
    await loops.probe.look_at_all()
    assert (await loops.row(name)).state is State.RUNNING
    assert (await loops.events(name))[-2:] == ["EngineUnreachable", "Recovered"]


async def test_job_that_its_engine_denies_is_gone_after_a_while(loops: Loops) -> None:
    """Not at the first time: an engine may just have come up."""
    name = await running(loops)
    seen = loops.runtime.seen.pop(name)
    await loops.probe.look_at_all()
    loops.runtime.seen[name] = seen
    await loops.probe.look_at_all()
    del loops.runtime.seen[name]
    loops.clock.seconds += VANISHED_AFTER_S
    await loops.probe.look_at_all()
    assert (await loops.row(name)).state is State.RUNNING
    loops.clock.seconds += VANISHED_AFTER_S
    await loops.probe.look_at_all()
    assert (await loops.row(name)).state is State.ABNORMAL_EXIT


async def test_answer_that_was_overtaken_changes_nothing(loops: Loops) -> None:
    """A slow look must not undo what a later one saw."""
    name = await running(loops)
    row = await loops.row(name)
    await loops.probe._observe(row, Observed(Phase.SUSPENDED), 100)
    await loops.probe._observe(await loops.row(name), Observed(Phase.RUNNING), 99)
    assert (await loops.row(name)).state is State.SUSPENDED


async def test_many_jobs_are_looked_at_in_batches(loops: Loops) -> None:
    """An answer has to fit one message."""
    for _ in range(PROBE_JOBS + 1):
        await loops.launcher.start(await loops.row(await loops.submit()))
    loops.runtime.asked.clear()
    await loops.probe.look_at_all()
    assert loops.runtime.asked == ["probe", "probe"]


async def test_engine_events_are_stored_once(loops: Loops) -> None:
    """Those that tell what control tells by itself are left out."""
    name = await running(loops)
    pulling = EngineEvent(5.0, False, "Pulling", "Pulling image")
    loops.runtime.seen[name] = Observed(
        Phase.RUNNING,
        events=(pulling, EngineEvent(6.0, True, "Started", "Started"), EngineEvent(7.0, True, "Oops", "")),
    )
    for _ in range(2):
        await loops.probe.look_at_all()
    assert (await loops.events(name))[-2:] == ["Engine", "Engine"]
    assert (await loops.row(name)).engine_heard_at == 7.0


async def test_launch_whose_answer_was_lost_is_found(loops: Loops) -> None:
    """Control died between the engine's start and its answer."""
    name = await loops.submit()
    row = await loops.row(name)
    await loops.launcher._schedule(row)
    await loops.launcher._save(row, {"job": name, "step": "asked"})
    loops.runtime.seen[name] = Observed(Phase.RUNNING)
    await loops.probe.look_at_all()
    row = await loops.row(name)
    assert (row.state, row.handle) == (State.RUNNING, {"job": name})
    assert await loops.events(name) == ["Submitted", "Scheduled", "Created", "Started"]


async def test_cluster_that_is_gone_is_silent(loops: Loops) -> None:
    """Taken out of the settings: its jobs become unknown, not ended."""
    name = await running(loops)
    loops.probe._runtimes = {}
    for _ in range(2):
        await loops.probe.look_at_all()
        loops.clock.seconds += UNKNOWN_AFTER_S
    assert (await loops.row(name)).state is State.UNKNOWN
