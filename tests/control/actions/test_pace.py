"""A person's pace: so many in a minute, and nobody else's."""

from __future__ import annotations

import pytest

from control.actions import pace
from control.actions.pace import WINDOW_S, Pace
from control.domain.errors import Code, ProblemError


def test_one_too_many_waits_for_the_first_to_be_over() -> None:
    """And is told for how long; it counts nothing itself, and holds nobody else up."""
    steps = Pace(2)
    steps.step(1, 100.0)
    steps.step(1, 110.0)
    for _ in range(2):
        with pytest.raises(ProblemError) as refused:
            steps.step(1, 120.0)
        assert refused.value.problem.code is Code.RATE_LIMITED
        assert refused.value.problem.params == {"retry_after_s": 40}
    steps.step(2, 120.0)
    steps.step(1, 100.0 + WINDOW_S)


def test_not_everybody_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who did nothing for longest is forgotten: memory has a bound."""
    monkeypatch.setattr(pace, "_PEOPLE", 2)
    steps = Pace(1)
    for person in (1, 2, 3):
        steps.step(person, 100.0)
    steps.step(1, 101.0)
    with pytest.raises(ProblemError):
        steps.step(3, 101.0)
