"""A cancellation that must not get lost."""

from __future__ import annotations

import asyncio


def pass_on() -> None:
    """Raises CancelledError when this task was told to end. To be called after faults were caught for good.

    A TaskGroup that is cancelled while one of its tasks fails raises the faults only (CPython 3.11
    and 3.12): whoever catches them and goes on would never end.
    """
    mine = asyncio.current_task()
    if mine is not None and mine.cancelling():
        raise asyncio.CancelledError
