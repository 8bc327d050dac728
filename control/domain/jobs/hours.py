"""What a job used: core hours, from the time its resources were assigned to the time they were released."""

from __future__ import annotations


def core_hours(*, nodes: int, cpus: int, scheduled_at: float | None, released_at: float | None, now: float) -> float:
    """Core hours so far. Suspended time counts, because suspended resources stay held."""
    if scheduled_at is None:
        return 0.0
    held_s = max(0.0, (now if released_at is None else released_at) - scheduled_at)
    return nodes * cpus * held_s / 3600.0
