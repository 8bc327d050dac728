"""What an observation means for a job: the state that follows, and the event that says why.

The contract's closing rules live here: cancelled only by a person who closed it, or by the operator; a
signal, the memory limit or the time limit is an abnormal exit; a launch that failed is a failed
creation; what runs without its watcher is a fault; what no engine answers for is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.jobs.observed import Cause, Observed, Phase
from control.domain.jobs.states import ENDED, State

UNKNOWN_AFTER_S: Final = 15.0
"""Seconds of an engine's silence after which a job's state is unknown."""
VANISHED_AFTER_S: Final = 10.0
"""Seconds for which an engine that answers has to deny a launched job before the job counts as gone."""


@dataclass(frozen=True, slots=True)
class Known:
    """What control knows of the job when it looks."""

    state: State
    started: bool = False
    closing_at: float | None = None
    closing_by: str | None = None
    time_limit_s: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The state that follows from a look, why, and when it happened."""

    state: State
    event: NewEvent
    at: float


def judge(known: Known, seen: Observed, now: float) -> Verdict | None:
    """What `seen` means; None when it says nothing new."""
    if known.state in ENDED:
        return None
    match seen.phase:
        case Phase.STARTING:
            return _live(known, State.CREATING, NewEvent(EventCode.RECOVERED), now)
        case Phase.RUNNING:
            return _running(known, seen, now)
        case Phase.SUSPENDED:
            return _live(known, State.SUSPENDED, NewEvent(EventCode.SUSPENDED), now)
        case Phase.LOST if seen.ended_at is not None or known.closing_at is not None:
            return _ended(known, seen, now)  # nothing of it runs any more
        case Phase.LOST:
            return _live(known, State.FAULT, _warning(EventCode.FAULT, detail=seen.detail), now)
    assert seen.phase is Phase.ENDED
    return _ended(known, seen, now)


def judge_missed_start(known: Known, seen: Observed, now: float) -> Verdict | None:
    """The start of a job that had ended before anyone looked; None when nothing was missed."""
    if known.started or seen.started_at is None or seen.phase not in {Phase.ENDED, Phase.LOST}:
        return None
    return Verdict(State.RUNNING, NewEvent(EventCode.STARTED), _at(seen.started_at, now))


def judge_silence(known: Known, silent_s: float, now: float) -> Verdict | None:
    """What it means that the engine has not answered for `silent_s` seconds."""
    if known.state in ENDED or known.state in {State.UNKNOWN, State.QUEUED} or silent_s < UNKNOWN_AFTER_S:
        return None
    return Verdict(State.UNKNOWN, _warning(EventCode.UNREACHABLE), now)


def judge_absence(known: Known, absent_s: float, now: float) -> Verdict | None:
    """What it means that the engine answers, but has denied the launched job for `absent_s` seconds."""
    if known.state in ENDED or absent_s < VANISHED_AFTER_S:
        return None
    if known.closing_at is not None:
        return _cancelled(known, now)
    return Verdict(State.ABNORMAL_EXIT, _warning(EventCode.VANISHED), now)


def judge_unlaunched(known: Known, now: float) -> Verdict:
    """A job that was closed before any engine heard of it."""
    return _cancelled(known, now)


def judge_refusal(code: str, now: float) -> Verdict:
    """The engine refused to start the job."""
    return Verdict(State.CREATE_FAILED, _warning(EventCode.LAUNCH_REFUSED, code=code), now)


def _running(known: Known, seen: Observed, now: float) -> Verdict | None:
    if known.state in {State.QUEUED, State.CREATING}:
        return Verdict(State.RUNNING, NewEvent(EventCode.STARTED), _at(seen.started_at, now))
    event = EventCode.RESUMED if known.state is State.SUSPENDED else EventCode.RECOVERED
    return _live(known, State.RUNNING, NewEvent(event), now)


def _live(known: Known, state: State, event: NewEvent, now: float) -> Verdict | None:
    if known.state is state:
        return None
    if known.state is State.UNKNOWN and state is not State.FAULT:
        event = NewEvent(EventCode.RECOVERED)
    return Verdict(state, event, now)


def _ended(known: Known, seen: Observed, now: float) -> Verdict:
    at = _at(seen.ended_at, now)
    if _was_closed(known, seen, at):
        return _cancelled(known, at)
    match seen.cause:
        case Cause.EXIT if seen.exit_code == 0:
            return Verdict(State.FINISHED, NewEvent(EventCode.FINISHED), at)
        case Cause.EXIT:
            return Verdict(State.FAILED, _warning(EventCode.FAILED, exit_code=seen.exit_code), at)
        case Cause.LAUNCH_FAILED:
            return Verdict(State.CREATE_FAILED, _warning(EventCode.CREATE_FAILED, detail=seen.detail), at)
        case Cause.OOM:
            return _abnormal(_warning(EventCode.OOM_KILLED), at)
        case Cause.TIME_LIMIT:
            return _abnormal(_warning(EventCode.TIME_LIMIT, time_limit_s=known.time_limit_s), at)
        case Cause.STOPPED:
            # Nobody asked control: an operator ended the jobs beside it (`make stop ARGS=--jobs`).
            return Verdict(State.CANCELLED, NewEvent(EventCode.OPERATOR_STOPPED), at)
        case Cause.SIGNAL:
            return _abnormal(_warning(EventCode.KILLED, signal=seen.signal or "TERM"), at)
    assert seen.cause in {Cause.SHIM_DIED, None}
    return _abnormal(_warning(EventCode.SHIM_DIED), at)


def _was_closed(known: Known, seen: Observed, at: float) -> bool:
    """Whether closing ended the job, rather than the job itself a moment before."""
    if known.closing_at is None:
        return False
    return seen.cause in {Cause.STOPPED, Cause.SHIM_DIED, None} or at > known.closing_at


def _cancelled(known: Known, at: float) -> Verdict:
    return Verdict(State.CANCELLED, NewEvent(EventCode.CANCELLED, {"user": known.closing_by or ""}), at)


def _abnormal(event: NewEvent, at: float) -> Verdict:
    return Verdict(State.ABNORMAL_EXIT, event, at)


def _warning(event: EventCode, **params: Any) -> NewEvent:
    return NewEvent(event, params, EventKind.WARNING)


def _at(instant: float | None, now: float) -> float:
    return now if instant is None else min(instant, now)
