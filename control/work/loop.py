"""A loop that looks again and again, and survives what one look raises."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from control.store.engine import Hints
from control.store.leases import LeaseLostError
from control.work.pulse import Pulse

log = logging.getLogger(__name__)

Look = Callable[[], Awaitable[object]]


async def steadily(name: str, look: Look, *, every_s: float, pulse: Pulse | None = None) -> None:
    """Calls `look` every `every_s` seconds until cancelled. A lost lease ends the loop; other faults are logged.

    `pulse` is told each time round, so that a look that hangs is seen.
    """
    with (pulse or Pulse()).watched(name, every_s) as beat:
        while True:
            await _once(name, look)
            beat()
            await asyncio.sleep(every_s)


async def on_hints(
    name: str, look: Look, hints: Hints, topics: tuple[str, ...], *, every_s: float, pulse: Pulse | None = None
) -> None:
    """Calls `look` after each hint on one of `topics`, and every `every_s` seconds in any case, until cancelled."""
    woken = asyncio.Event()
    unlisten = [hints.listen(topic, lambda _key: woken.set()) for topic in topics]
    try:
        with (pulse or Pulse()).watched(name, every_s) as beat:
            while True:
                woken.clear()
                await _once(name, look)
                beat()
                try:
                    async with asyncio.timeout(every_s):
                        await woken.wait()
                except TimeoutError:
                    continue
    finally:
        for stop in unlisten:
            stop()


async def _once(name: str, look: Look) -> None:
    try:
        await look()
    except LeaseLostError:
        raise
    except Exception:  # what one look met must not end the loop; the next one starts from the database
        log.exception("%s failed", name)
