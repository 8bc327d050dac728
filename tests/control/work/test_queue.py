"""The queue merges, never works an item twice at once, and backs off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from control.work.queue import Work, WorkQueue


@asynccontextmanager
async def working(queue: WorkQueue, work: Work) -> AsyncIterator[None]:
    """The queue at work."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(queue.run(work, at_once=4))
        yield
        running.cancel()


async def test_duplicates_are_merged() -> None:
    """Put three times, worked once."""
    queue, worked, done = WorkQueue(), list[str](), asyncio.Event()

    async def work(item: str) -> None:
        worked.append(item)
        if item == "last":
            done.set()

    for item in ("a", "a", "b", "a", "last"):
        queue.put(item)
    async with working(queue, work):
        await done.wait()
    assert sorted(worked) == ["a", "b", "last"]


async def test_item_put_while_it_is_worked_is_worked_again_afterwards() -> None:
    """Not beside itself, not forgotten."""
    queue, busy, most, rounds = WorkQueue(), 0, 0, 0
    release, done = asyncio.Event(), asyncio.Event()

    async def work(_item: str) -> None:
        nonlocal busy, most, rounds
        busy += 1
        most = max(most, busy)
        if rounds == 0:
            queue.put("a")
            queue.put("other")
        rounds += 1
        await release.wait()
        busy -= 1
        if rounds == 3:
            done.set()

    async with working(queue, work):
        queue.put("a")
        while rounds < 2:
            await asyncio.sleep(0)
        release.set()
        await done.wait()
    assert most == 2


async def test_failing_item_is_tried_again_ever_later(caplog: pytest.LogCaptureFixture) -> None:
    """Each time twice as late, up to the longest; success forgets it."""
    queue = WorkQueue(first_retry_s=0.001, longest_retry_s=0.004)
    done = asyncio.Event()
    tries = 0

    async def work(_item: str) -> None:
        nonlocal tries
        tries += 1
        if tries < 5:
            raise ZeroDivisionError
        done.set()

    async with working(queue, work):
        queue.put("a")
        await done.wait()
    assert [record.args[1] for record in caplog.records if record.args] == [0.001, 0.002, 0.004, 0.004]  # type: ignore[index]
    assert queue._failures == {}


async def test_item_asks_to_be_looked_at_again() -> None:
    """The seconds that work returns."""
    queue, done, tries = WorkQueue(), asyncio.Event(), 0

    async def work(_item: str) -> float | None:
        nonlocal tries
        tries += 1
        if tries == 3:
            done.set()
            return None
        return 0.001

    async with working(queue, work):
        queue.put("a", 0.001)
        await done.wait()


async def test_earlier_wish_wins() -> None:
    """An item that waits for a while is worked at once when it is put again."""
    queue, done = WorkQueue(), asyncio.Event()

    async def work(_item: str) -> None:
        done.set()

    async with working(queue, work):
        queue.put("a", 3600)
        queue.put("a")
        queue.put("a", 7200)
        await done.wait()
    assert queue._due == {}
