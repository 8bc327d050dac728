"""A queue of things to look at: merges duplicates, never works one twice at once, backs off.

State: what waits and until when, what is being worked, and how often each failed in a row. Items are
names; the truth about them is in the database, so that losing the queue loses nothing.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Final

log = logging.getLogger(__name__)

FIRST_RETRY_S: Final = 0.25
LONGEST_RETRY_S: Final = 30.0

Work = Callable[[str], Awaitable[float | None]]
"""Works one item; returns seconds after which to look again, or None. Raising counts as a failure."""


class WorkQueue:
    """Items by due time."""

    def __init__(self, *, first_retry_s: float = FIRST_RETRY_S, longest_retry_s: float = LONGEST_RETRY_S) -> None:
        self._first_retry_s = first_retry_s
        self._longest_retry_s = longest_retry_s
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = itertools.count()
        self._busy: set[str] = set()
        self._failures: dict[str, int] = {}
        self._changed = asyncio.Event()

    def put(self, item: str, delay_s: float = 0.0) -> None:
        """Has `item` looked at in `delay_s` seconds, or earlier when it is due earlier already."""
        due = asyncio.get_running_loop().time() + delay_s
        if self._due.get(item, float("inf")) <= due:
            return
        self._due[item] = due
        heapq.heappush(self._heap, (due, next(self._order), item))
        self._changed.set()

    async def run(self, work: Work, *, at_once: int) -> None:
        """Works items until cancelled, `at_once` of them at a time."""
        async with asyncio.TaskGroup() as workers:
            for _ in range(at_once):
                workers.create_task(self._worker(work))

    async def _worker(self, work: Work) -> None:
        while True:
            item = await self._next()
            try:
                again_s = await work(item)
                self._failures.pop(item, None)
            except Exception:  # one item's failure must not stop the others
                again_s = self._retry_s(item)
                log.exception("work on %s failed; again in %.1f s", item, again_s)
            self._busy.discard(item)
            # What was put while it was worked waited for this moment.
            self._changed.set()
            if again_s is not None:
                self.put(item, again_s)

    async def _next(self) -> str:
        while True:
            self._changed.clear()
            item, wait_s = self._take()
            if item is not None:
                return item
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _take(self) -> tuple[str | None, float | None]:
        """The first item that is due and not being worked; else None and the seconds until one may be."""
        now = asyncio.get_running_loop().time()
        held_back = []
        found: tuple[str | None, float | None] = (None, None)
        while self._heap:
            due, order, item = self._heap[0]
            if self._due.get(item) != due:
                heapq.heappop(self._heap)  # put again earlier, or taken since
                continue
            if due > now:
                found = (None, due - now)
                break
            heapq.heappop(self._heap)
            if item in self._busy:
                held_back.append((due, order, item))
                continue
            del self._due[item]
            self._busy.add(item)
            found = (item, None)
            break
        for entry in held_back:
            heapq.heappush(self._heap, entry)
        return found

    def _retry_s(self, item: str) -> float:
        failed = self._failures[item] = self._failures.get(item, 0) + 1
        wait_s: float = self._first_retry_s * 2 ** min(failed - 1, 16)
        return min(wait_s, self._longest_retry_s)
