"""Conditions follow the state, keep the time of their last change, and survive being stored."""

from __future__ import annotations

import pytest

from control.domain.conditions import (
    CONTAINER_WORDS,
    Condition,
    ConditionCode,
    ConditionType,
    derive,
    from_plain,
    to_plain,
)
from control.domain.jobs.states import State


def kept(
    state: State, *, scheduled: bool, previous: tuple[Condition, ...] = (), now: float = 1.0
) -> dict[str, Condition]:
    """The conditions by their names."""
    found = derive(state, container="web-1", scheduled=scheduled, previous=previous, now=now)
    return {condition.type.value: condition for condition in found}


def test_order_is_the_manuals() -> None:
    """Initialized, Ready, ContainersReady, PodScheduled."""
    assert list(kept(State.RUNNING, scheduled=True)) == ["Initialized", "Ready", "ContainersReady", "PodScheduled"]
    assert all(condition.ok for condition in kept(State.RUNNING, scheduled=True).values())


@pytest.mark.parametrize(
    ("state", "scheduled", "holds"),
    [
        (State.QUEUED, False, set()),
        (State.CREATING, True, {"Initialized", "PodScheduled"}),
        (State.FAILED, True, {"Initialized", "PodScheduled"}),
        (State.CREATE_FAILED, True, {"PodScheduled"}),
        (State.UNKNOWN, True, {"Initialized", "PodScheduled"}),
    ],
)
def test_what_holds_in_a_state(state: State, scheduled: bool, holds: set[str]) -> None:
    """As in the manual's three examples, and the states between."""
    assert {name for name, condition in kept(state, scheduled=scheduled).items() if condition.ok} == holds


def test_unchanged_condition_keeps_its_since() -> None:
    """Only what changed moves."""
    before = derive(State.CREATING, container="c", scheduled=True, previous=(), now=1.0)
    after = kept(State.RUNNING, scheduled=True, previous=before, now=2.0)
    assert after["PodScheduled"].since == 1.0
    assert after["Ready"].since == 2.0


def test_message_names_the_container() -> None:
    """In the reader's language; nothing to say of what holds."""
    condition = kept(State.CREATING, scheduled=True)["Ready"]
    assert condition.message("en") == "containers with unready status: [web-1]"
    assert condition.message("zh") == "容器未就绪：[web-1]"
    assert Condition(ConditionType.READY, ConditionCode.MET, 0.0).message("en") == ""


def test_stored_conditions_read_back() -> None:
    """Code and parameters, no sentence."""
    before = derive(State.QUEUED, container="c", scheduled=False, previous=(), now=3.0)
    assert from_plain(to_plain(before)) == before


def test_every_state_has_a_container_word() -> None:
    """The manual's `Container NAME WORD` line never lacks its word."""
    assert set(CONTAINER_WORDS) == set(State)
