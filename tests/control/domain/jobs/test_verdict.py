"""What each observation means: the contract's closing rules as a table of cases."""

from __future__ import annotations

import pytest

from control.domain.events import EventCode
from control.domain.jobs.observed import Cause, Observed, Phase
from control.domain.jobs.states import ENDED, State
from control.domain.jobs.verdict import (
    UNKNOWN_AFTER_S,
    VANISHED_AFTER_S,
    Known,
    judge,
    judge_absence,
    judge_missed_start,
    judge_refusal,
    judge_silence,
    judge_unlaunched,
)

NOW = 1000.0
CLOSING = Known(State.RUNNING, closing_at=900.0, closing_by="alice")


def ended(cause: Cause | None, exit_code: int | None = None, at: float | None = 950.0) -> Observed:
    """An end at `at`."""
    return Observed(Phase.ENDED, ended_at=at, exit_code=exit_code, cause=cause, signal="KILL")


@pytest.mark.parametrize(
    ("seen", "state", "code"),
    [
        (ended(Cause.EXIT, 0), State.FINISHED, EventCode.FINISHED),
        (ended(Cause.EXIT, 3), State.FAILED, EventCode.FAILED),
        (ended(Cause.SIGNAL), State.ABNORMAL_EXIT, EventCode.KILLED),
        (ended(Cause.OOM), State.ABNORMAL_EXIT, EventCode.OOM_KILLED),
        (ended(Cause.TIME_LIMIT), State.ABNORMAL_EXIT, EventCode.TIME_LIMIT),
        (ended(Cause.STOPPED), State.CANCELLED, EventCode.OPERATOR_STOPPED),
        (ended(Cause.LAUNCH_FAILED), State.CREATE_FAILED, EventCode.CREATE_FAILED),
        (ended(Cause.SHIM_DIED), State.ABNORMAL_EXIT, EventCode.SHIM_DIED),
        (ended(None), State.ABNORMAL_EXIT, EventCode.SHIM_DIED),
        (Observed(Phase.LOST, ended_at=950.0, cause=Cause.SHIM_DIED), State.ABNORMAL_EXIT, EventCode.SHIM_DIED),
    ],
)
def test_ends_by_themselves(seen: Observed, state: State, code: EventCode) -> None:
    """Nobody closed the job: only the operator, who ends all of them, cancels it."""
    verdict = judge(Known(State.RUNNING), seen, NOW)
    assert verdict is not None
    assert (verdict.state, verdict.event.code, verdict.at) == (state, code, 950.0)


@pytest.mark.parametrize("cause", [Cause.EXIT, Cause.SIGNAL, Cause.STOPPED, Cause.SHIM_DIED])
def test_end_after_closing_is_cancelled(cause: Cause) -> None:
    """Whatever the processes answered to being stopped."""
    verdict = judge(CLOSING, ended(cause, 0), NOW)
    assert verdict is not None
    assert verdict.state is State.CANCELLED
    assert verdict.event.params == {"user": "alice"}


def test_end_just_before_closing_keeps_its_own_state() -> None:
    """The job was faster than its owner."""
    verdict = judge(CLOSING, ended(Cause.EXIT, 0, at=899.0), NOW)
    assert verdict is not None
    assert verdict.state is State.FINISHED


def test_end_without_a_time_is_now_and_never_in_the_future() -> None:
    """The node's clock may be ahead of ours."""
    for at in (None, NOW + 50):
        verdict = judge(Known(State.RUNNING), ended(Cause.EXIT, 0, at=at), NOW)
        assert verdict is not None
        assert verdict.at == NOW


@pytest.mark.parametrize(
    ("state", "phase", "after", "code"),
    [
        (State.CREATING, Phase.RUNNING, State.RUNNING, EventCode.STARTED),
        (State.QUEUED, Phase.RUNNING, State.RUNNING, EventCode.STARTED),
        (State.SUSPENDED, Phase.RUNNING, State.RUNNING, EventCode.RESUMED),
        (State.UNKNOWN, Phase.RUNNING, State.RUNNING, EventCode.RECOVERED),
        (State.FAULT, Phase.RUNNING, State.RUNNING, EventCode.RECOVERED),
        (State.RUNNING, Phase.SUSPENDED, State.SUSPENDED, EventCode.SUSPENDED),
        (State.UNKNOWN, Phase.SUSPENDED, State.SUSPENDED, EventCode.RECOVERED),
        (State.UNKNOWN, Phase.STARTING, State.CREATING, EventCode.RECOVERED),
        (State.RUNNING, Phase.LOST, State.FAULT, EventCode.FAULT),
        (State.UNKNOWN, Phase.LOST, State.FAULT, EventCode.FAULT),
    ],
)
def test_live_changes(state: State, phase: Phase, after: State, code: EventCode) -> None:
    """Each change has its event."""
    verdict = judge(Known(state), Observed(phase), NOW)
    assert verdict is not None
    assert (verdict.state, verdict.event.code) == (after, code)


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        (State.RUNNING, Phase.RUNNING),
        (State.SUSPENDED, Phase.SUSPENDED),
        (State.CREATING, Phase.STARTING),
        (State.FAULT, Phase.LOST),
        *((state, phase) for state in ENDED for phase in Phase),
    ],
)
def test_nothing_new(state: State, phase: Phase) -> None:
    """The same again, and anything about an ended job."""
    assert judge(Known(state), Observed(phase), NOW) is None


def test_lost_job_that_is_being_closed_is_cancelled() -> None:
    """A fault can always be closed."""
    known = Known(State.FAULT, closing_at=900.0, closing_by="alice")
    verdict = judge(known, Observed(Phase.LOST), NOW)
    assert verdict is not None
    assert verdict.state is State.CANCELLED


def test_silence_makes_a_job_unknown_after_a_while() -> None:
    """Not at once, not twice, and not a job that no engine heard of."""
    verdict = judge_silence(Known(State.RUNNING), UNKNOWN_AFTER_S, NOW)
    assert verdict is not None
    assert verdict.state is State.UNKNOWN
    assert judge_silence(Known(State.RUNNING), UNKNOWN_AFTER_S - 1, NOW) is None
    assert judge_silence(Known(State.UNKNOWN), 1e9, NOW) is None
    assert judge_silence(Known(State.QUEUED), 1e9, NOW) is None
    assert judge_silence(Known(State.FINISHED), 1e9, NOW) is None


def test_absence_ends_a_job_after_a_while() -> None:
    """An engine that answers, but denies the job."""
    verdict = judge_absence(Known(State.RUNNING), VANISHED_AFTER_S, NOW)
    assert verdict is not None
    assert (verdict.state, verdict.event.code) == (State.ABNORMAL_EXIT, EventCode.VANISHED)
    closed = judge_absence(CLOSING, VANISHED_AFTER_S, NOW)
    assert closed is not None
    assert closed.state is State.CANCELLED
    assert judge_absence(CLOSING, VANISHED_AFTER_S - 1, NOW) is None
    assert judge_absence(Known(State.FAILED), 1e9, NOW) is None


def test_start_that_nobody_saw_is_told_before_the_end() -> None:
    """A job of a blink; one that never started, or whose start was told, has nothing to catch up on."""
    blink = Observed(Phase.ENDED, started_at=940.0, ended_at=950.0, exit_code=0, cause=Cause.EXIT)
    verdict = judge_missed_start(Known(State.CREATING), blink, NOW)
    assert verdict is not None
    assert (verdict.state, verdict.event.code, verdict.at) == (State.RUNNING, EventCode.STARTED, 940.0)
    assert judge_missed_start(Known(State.RUNNING, started=True), blink, NOW) is None
    assert judge_missed_start(Known(State.CREATING), Observed(Phase.RUNNING, started_at=940.0), NOW) is None
    assert judge_missed_start(Known(State.CREATING), ended(Cause.LAUNCH_FAILED), NOW) is None


def test_job_closed_before_its_launch_and_refused_launch() -> None:
    """Cancelled by its owner; create_failed by the engine."""
    assert judge_unlaunched(Known(State.QUEUED, closing_at=1.0, closing_by="alice"), NOW).state is State.CANCELLED
    assert judge_refusal("forbidden", NOW).event.params == {"code": "forbidden"}
