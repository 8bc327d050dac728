"""The one place where control reads the wall clock; everyone else is handed `now`."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> float:
    """Seconds since the epoch, UTC."""
    return time.time()  # noqa: TID251 - this is the one place


def utcnow() -> datetime:
    """The same instant as an aware datetime."""
    return datetime.fromtimestamp(now(), UTC)
