"""The agent's one place that reads the wall clock."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds since the epoch, UTC."""
    return time.time()  # noqa: TID251 - the agent imports nothing of ours, so it has a clock of its own
