"""How a job looks from outside."""

from __future__ import annotations

from typing import get_args

from control.api.shapes.jobs import StateWord
from control.domain.jobs.states import State


def test_the_words_of_the_states_are_the_domains() -> None:
    """Eleven of them, and no other."""
    assert set(get_args(StateWord)) == {state.value for state in State}
    assert len(State) == 11
