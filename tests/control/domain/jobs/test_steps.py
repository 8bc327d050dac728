"""The table of steps: complete, and right for every launch that was cut short."""

from __future__ import annotations

import itertools

import pytest

from control.domain.jobs.states import ENDED, State, Wanted
from control.domain.jobs.steps import Launch, Step, asked_handle, launch_of, next_step


@pytest.mark.parametrize(("state", "wanted", "launch"), [*itertools.product(State, Wanted, Launch)])
def test_every_combination_has_a_step(state: State, wanted: Wanted, launch: Launch) -> None:
    """And only ended jobs rest."""
    assert (next_step(state, wanted, launch) is Step.NONE) is (state in ENDED)


@pytest.mark.parametrize(
    ("state", "wanted", "launch", "step"),
    [
        (State.QUEUED, Wanted.RUNNING, Launch.NONE, Step.START),
        (State.QUEUED, Wanted.CLOSED, Launch.NONE, Step.CANCEL),
        (State.CREATING, Wanted.RUNNING, Launch.ASKED, Step.START),
        (State.CREATING, Wanted.RUNNING, Launch.DONE, Step.WATCH),
        (State.CREATING, Wanted.CLOSED, Launch.ASKED, Step.STOP),
        (State.CREATING, Wanted.CLOSED, Launch.NONE, Step.CANCEL),
        (State.RUNNING, Wanted.RUNNING, Launch.DONE, Step.WATCH),
        (State.RUNNING, Wanted.SUSPENDED, Launch.DONE, Step.SUSPEND),
        (State.RUNNING, Wanted.CLOSED, Launch.DONE, Step.STOP),
        (State.SUSPENDED, Wanted.RUNNING, Launch.DONE, Step.RESUME),
        (State.SUSPENDED, Wanted.CLOSED, Launch.DONE, Step.STOP),
        (State.UNKNOWN, Wanted.RUNNING, Launch.ASKED, Step.START),
        (State.FAULT, Wanted.CLOSED, Launch.DONE, Step.STOP),
    ],
)
def test_steps_that_matter(state: State, wanted: Wanted, launch: Launch, step: Step) -> None:
    """An engine that may have heard of a job is asked to stop it; one that surely has not is left alone."""
    assert next_step(state, wanted, launch) is step


def test_launch_is_told_from_the_handle() -> None:
    """Nothing, the handle saved before the engine is asked, the engine's own."""
    assert launch_of(None) is Launch.NONE
    assert launch_of(asked_handle("web-1")) is Launch.ASKED
    assert launch_of({"job": "web-1", "shim_pid": 7}) is Launch.DONE
