"""A sliding minute: never more than the limit by much, and the wait that is told is long enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.pace import MINUTE_S, minute_of, wait_s


@pytest.mark.parametrize(
    ("before", "during", "now", "limit", "wait"),
    [
        (0, 0, 0.0, 1, 0),
        (0, 9, 59.0, 10, 0),
        (0, 10, 59.0, 10, 2),
        (10, 0, 0.0, 10, 1),
        (10, 0, 6.1, 10, 0),
        (10, 5, 30.0, 10, 1),
        (1, 1, 30.0, 1, 31),
        (100, 0, 0.0, 1, 60),
    ],
)
def test_the_minute_before_fades(before: int, during: int, now: float, limit: int, wait: int) -> None:
    """Requests of the minute before count by the share that lies within sixty seconds."""
    assert wait_s(before, during, now, limit) == wait


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0, 1e6), st.integers(1, 400))
def test_who_waits_as_told_gets_in(before: int, during: int, now: float, limit: int) -> None:
    """No request is told a time after which it is refused again, when nothing else comes meanwhile."""
    wait = wait_s(before, min(during, limit), now, limit)
    assert 0 <= wait <= 2 * MINUTE_S + 1
    during, later = min(during, limit), now + wait
    passed = minute_of(later) - minute_of(now)
    counts = {0: (before, during), 1: (during, 0)}.get(passed, (0, 0))
    assert wait_s(*counts, later, limit) <= 1


@given(st.lists(st.floats(0, 600), max_size=300), st.integers(1, 20))
def test_no_minute_lets_through_twice_the_limit(moments: list[float], limit: int) -> None:
    """However requests come, any sixty seconds hold fewer than two limits; bursts at the turn are no way around."""
    counts: dict[int, int] = {}
    passed = []
    for moment in sorted(moments):
        minute = minute_of(moment)
        if not wait_s(counts.get(minute - 1, 0), counts.get(minute, 0), moment, limit):
            counts[minute] = counts.get(minute, 0) + 1
            passed.append(moment)
    for start in passed:
        assert sum(start <= moment < start + MINUTE_S for moment in passed) < 2 * limit + 1
    assert all(count <= limit for count in counts.values())
