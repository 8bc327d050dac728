"""A cancellation that must not get lost."""

from __future__ import annotations

import asyncio


def pass_on() -> None:
    """Raises CancelledError when this task was told to end. To be called after faults were caught for good.

    A TaskGroup that is cancelled while one of its tasks fails raises the faults only (CPython 3.11
    and 3.12): whoever catches them and goes on would never end. It counts as told to end, too, when
    a task of a group fails after the group's body has: so let the body await as long as its tasks run.
    """
    mine = asyncio.current_task()
    if mine is not None and mine.cancelling():
        raise asyncio.CancelledError
