"""Room for one more visit: three limits, and a fair share when room is scarce."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.contract.routes import EntryLimits
from gateway.core.refusals import Code
from gateway.core.room import QUIET, Crowd, Limits, no_room

LIMITS = Limits(total=1000, of_entry=400, of_address=200)


@pytest.mark.parametrize(
    ("crowd", "code"),
    [
        (Crowd(0, 0, 0), None),
        (Crowd(500, 399, 199), None),
        (Crowd(500, 10, 200), Code.RATE_LIMITED),
        (Crowd(500, 400, 10), Code.BUSY),
        (Crowd(1000, 0, 0), Code.BUSY),
        (Crowd(999, QUIET - 1, 0), None),
        (Crowd(990, 20, 0), Code.BUSY),
        (Crowd(990, 19, 0), None),
    ],
)
def test_each_limit_and_the_fair_share(crowd: Crowd, code: Code | None) -> None:
    """Who has too many is told so; a quiet entry is let in while there is any place."""
    assert no_room(crowd, LIMITS) is code


@pytest.mark.parametrize(("at_entry", "elsewhere", "code"), [(1, 1, None), (3, 0, Code.BUSY), (0, 3, Code.BUSY)])
def test_an_owners_limit_counts_all_processes(at_entry: int, elsewhere: int, code: Code | None) -> None:
    """It holds beside the platform's own."""
    crowd = Crowd(500, at_entry, 0, elsewhere)
    assert no_room(crowd, LIMITS, EntryLimits(connections=3)) is code
    assert no_room(crowd, LIMITS, EntryLimits(body_bytes=1)) is None


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5000))
def test_floods_leave_room_for_the_quiet(arrivals: list[int]) -> None:
    """However five entries flood, a sixth that asks for a visit gets one."""
    held = dict.fromkeys(range(5), 0)
    limits = Limits(total=300, of_entry=300, of_address=10_000)
    for entry in arrivals:
        if no_room(Crowd(sum(held.values()), held[entry], 0), limits) is None:
            held[entry] += 1
    assert no_room(Crowd(sum(held.values()), 0, 0), limits) is None
