"""The gateway's one wall clock. Thinking rooms get its reading as an argument."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds since the epoch, UTC. For durations and deadlines use the event loop's monotonic time."""
    return time.time()  # noqa: TID251 - the one place
