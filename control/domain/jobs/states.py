"""The eleven states of a job, what is wanted of it, and the words people read."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from control.domain.errors import Language, Sentence
from gateway.contract.routes import JobPhase

UNCLOSED_SHOWN_S: Final = 24 * 3600.0
"""Seconds for which an abnormal end stays among the running jobs when its owner does not close it."""


class State(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    CREATING = "creating"
    RUNNING = "running"
    SUSPENDED = "suspended"
    FAULT = "fault"
    UNKNOWN = "unknown"
    FINISHED = "finished"
    FAILED = "failed"
    CREATE_FAILED = "create_failed"
    CANCELLED = "cancelled"
    ABNORMAL_EXIT = "abnormal_exit"


class Wanted(StrEnum):
    """What its owner wants of a job."""

    RUNNING = "running"
    SUSPENDED = "suspended"
    CLOSED = "closed"


ENDED: Final = frozenset(
    {State.FINISHED, State.FAILED, State.CREATE_FAILED, State.CANCELLED, State.ABNORMAL_EXIT},
)
LIVE: Final = frozenset(State) - ENDED
LINGERING: Final = frozenset({State.ABNORMAL_EXIT, State.CREATE_FAILED})
"""Ended states that stay among the running jobs until they are closed or UNCLOSED_SHOWN_S pass."""

_WORDS: Final[dict[State, Sentence]] = {
    State.QUEUED: Sentence("排队中", "queued"),
    State.CREATING: Sentence("创建中", "creating"),
    State.RUNNING: Sentence("运行中", "running"),
    State.SUSPENDED: Sentence("挂起", "suspended"),
    State.FAULT: Sentence("故障", "fault"),
    State.UNKNOWN: Sentence("未知", "unknown"),
    State.FINISHED: Sentence("已结束", "finished"),
    State.FAILED: Sentence("已结束（失败）", "failed"),
    State.CREATE_FAILED: Sentence("创建失败", "create failed"),
    State.CANCELLED: Sentence("已取消", "cancelled"),
    State.ABNORMAL_EXIT: Sentence("退出码异常", "abnormal exit"),
}

_PHASES: Final[dict[State, JobPhase]] = {
    State.QUEUED: JobPhase.STARTING,
    State.CREATING: JobPhase.STARTING,
    State.RUNNING: JobPhase.RUNNING,
    State.SUSPENDED: JobPhase.SUSPENDED,
    State.FAULT: JobPhase.UNREACHABLE,
    # The engine is silent, but the job's processes may well be fine: let the bridge try.
    State.UNKNOWN: JobPhase.RUNNING,
}


def word(state: State, language: Language) -> str:
    """The state as the manual calls it."""
    return _WORDS[state].say(language, {})


def phase(state: State) -> JobPhase:
    """What gateways need to know of the state."""
    return _PHASES.get(state, JobPhase.ENDED)


def is_running_view(state: State, *, closed: bool, ended_at: float | None, now: float) -> bool:
    """Whether the job is listed among the running ones; else it is history."""
    if state in LIVE:
        return True
    return state in LINGERING and not closed and ended_at is not None and now - ended_at < UNCLOSED_SHOWN_S
