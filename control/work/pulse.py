"""Which loops of this process have come round in their time: one that hangs is seen, though it raises nothing.

State: for each loop that runs here, when it last came round and how long it may take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

LOOK_S: Final = 90.0
"""Seconds that one look may take: all that a look waits for has a shorter deadline."""


class Pulse:
    """The loops of one process."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}

    @contextmanager
    def watched(self, name: str, every_s: float) -> Iterator[Callable[[], None]]:
        """Watches the loop `name` for as long as the block runs; the loop calls what it is given each time round."""
        loop = asyncio.get_running_loop()

        def beat() -> None:
            self._due[name] = loop.time() + every_s + LOOK_S

        self._due[name] = loop.time() + LOOK_S
        try:
            yield beat
        finally:
            self._due.pop(name, None)

    def silent(self) -> tuple[str, ...]:
        """The loops that are overdue."""
        now = asyncio.get_running_loop().time()
        return tuple(sorted(name for name, due in self._due.items() if due < now))
