"""Core hours run from the assignment of resources to their release."""

from __future__ import annotations

import pytest

from control.domain.jobs.hours import core_hours


@pytest.mark.parametrize(
    ("scheduled_at", "released_at", "hours"),
    [(None, None, 0.0), (0.0, None, 8.0), (0.0, 1800.0, 4.0), (7200.0, None, 0.0)],
)
def test_core_hours(scheduled_at: float | None, released_at: float | None, hours: float) -> None:
    """Not before scheduling, to now while held, to the release after; never negative."""
    found = core_hours(nodes=2, cpus=4, scheduled_at=scheduled_at, released_at=released_at, now=3600.0)
    assert found == hours
