"""Ports outside the kernel's outgoing range are tried first, and none that is held."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from control.domain.ports import TRIES, candidates

SAMPLE = random.Random(7).sample


def test_ports_outside_the_outgoing_range_come_first() -> None:
    """One inside may be taken by a connection that happens to leave from it."""
    found = list(candidates(range(1, 11), range(1, 8), {10}, SAMPLE))
    assert set(found[:2]) == {8, 9}
    assert set(found[2:]) == set(range(1, 8))


@given(st.sets(st.integers(min_value=0, max_value=300)), st.integers(0, 300), st.integers(0, 300))
def test_candidates_are_free_allowed_and_bounded(held: set[int], low: int, high: int) -> None:
    """Whatever the ranges."""
    found = list(candidates(range(100, 200), range(low, high), held, SAMPLE))
    assert len(found) == len(set(found)) <= TRIES
    assert all(port in range(100, 200) and port not in held for port in found)
    assert found or held >= set(range(100, 200))
