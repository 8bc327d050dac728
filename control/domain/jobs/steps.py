"""The one table that says what to do next for a job: what is wanted, where it stands, how far its launch got."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from control.domain.jobs.states import ENDED, State, Wanted


class Launch(StrEnum):
    """How far the launch got. ASKED: the engine was or will be asked; whether it heard is not known."""

    NONE = "none"
    ASKED = "asked"
    DONE = "done"


class Step(StrEnum):
    """What to do next. WATCH: nothing but to look at the job again."""

    NONE = "none"
    START = "start"
    CANCEL = "cancel"
    STOP = "stop"
    SUSPEND = "suspend"
    RESUME = "resume"
    WATCH = "watch"


_TABLE: Final[dict[tuple[State, Wanted], Step]] = {
    (State.QUEUED, Wanted.RUNNING): Step.START,
    (State.QUEUED, Wanted.SUSPENDED): Step.START,
    (State.QUEUED, Wanted.CLOSED): Step.STOP,
    (State.CREATING, Wanted.RUNNING): Step.WATCH,
    (State.CREATING, Wanted.SUSPENDED): Step.WATCH,
    (State.CREATING, Wanted.CLOSED): Step.STOP,
    (State.RUNNING, Wanted.RUNNING): Step.WATCH,
    (State.RUNNING, Wanted.SUSPENDED): Step.SUSPEND,
    (State.RUNNING, Wanted.CLOSED): Step.STOP,
    (State.SUSPENDED, Wanted.RUNNING): Step.RESUME,
    (State.SUSPENDED, Wanted.SUSPENDED): Step.WATCH,
    (State.SUSPENDED, Wanted.CLOSED): Step.STOP,
    (State.FAULT, Wanted.RUNNING): Step.WATCH,
    (State.FAULT, Wanted.SUSPENDED): Step.WATCH,
    (State.FAULT, Wanted.CLOSED): Step.STOP,
    (State.UNKNOWN, Wanted.RUNNING): Step.WATCH,
    (State.UNKNOWN, Wanted.SUSPENDED): Step.WATCH,
    (State.UNKNOWN, Wanted.CLOSED): Step.STOP,
}


def next_step(state: State, wanted: Wanted, launch: Launch) -> Step:
    """What to do next."""
    if state in ENDED:
        return Step.NONE
    step = _TABLE[state, wanted]
    if step is Step.STOP and launch is Launch.NONE:
        return Step.CANCEL  # no engine ever heard of it
    if step in (Step.WATCH, Step.START) and launch is not Launch.DONE:
        return Step.START  # asking a second time is safe; not asking could leave it waiting for ever
    return step


def launch_of(handle: dict[str, Any] | None) -> Launch:
    """How far the launch got, from the stored handle."""
    if handle is None:
        return Launch.NONE
    return Launch.ASKED if handle.get("step") == Launch.ASKED else Launch.DONE


def asked_handle(job: str) -> dict[str, Any]:
    """The handle that is stored before an engine is asked: enough to stop whatever may come of it."""
    return {"job": job, "step": Launch.ASKED.value}
