"""What an engine says of a job, as a fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

DETAIL_CHARACTERS: Final = 500


class Phase(StrEnum):
    """How an engine sees a job. LOST: its processes live, but what watches over them is gone."""

    STARTING = "starting"
    RUNNING = "running"
    SUSPENDED = "suspended"
    ENDED = "ended"
    LOST = "lost"


class Cause(StrEnum):
    """Why a job ended."""

    EXIT = "exit"
    SIGNAL = "signal"
    OOM = "oom"
    TIME_LIMIT = "time_limit"
    STOPPED = "stopped"
    LAUNCH_FAILED = "launch_failed"
    SHIM_DIED = "shim_died"


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """An event that the engine noted by itself."""

    at: float
    warning: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """One look at a job. Instants are seconds since the epoch, UTC, by the clock of the job's node."""

    phase: Phase
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    signal: str | None = None
    cause: Cause | None = None
    detail: str = ""
    node: str = ""
    events: tuple[EngineEvent, ...] = ()


def from_plain(plain: Mapping[str, Any]) -> Observed:
    """The fact from a bridge's answer. Raises ValueError or KeyError for what is not one."""
    cause = plain.get("cause")
    return Observed(
        phase=Phase(plain["state"]),
        started_at=plain.get("started_at"),
        ended_at=plain.get("ended_at"),
        exit_code=plain.get("exit_code"),
        signal=plain.get("signal"),
        cause=None if cause is None else Cause(cause),
        detail=str(plain.get("detail") or "")[:DETAIL_CHARACTERS],
        node=str(plain.get("node") or "")[:DETAIL_CHARACTERS],
        events=tuple(_event(each) for each in plain.get("events", ())),
    )


def _event(plain: Mapping[str, Any]) -> EngineEvent:
    return EngineEvent(
        at=float(plain["at"]),
        warning=plain.get("kind") == "Warning",
        reason=str(plain["reason"])[:64],
        message=str(plain.get("message", ""))[:DETAIL_CHARACTERS],
    )
