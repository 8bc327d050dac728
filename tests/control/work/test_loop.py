"""Loops survive what one look raises, but not a lost lease."""

from __future__ import annotations

import asyncio

import pytest

from control.store.engine import Hints
from control.store.leases import LeaseLostError
from control.work.loop import on_hints, steadily


async def test_steady_loop_goes_on_after_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    """The fault is logged, the next look is done."""
    looks, done = 0, asyncio.Event()

    async def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise ZeroDivisionError
        done.set()

    async with asyncio.TaskGroup() as group:
        loop = group.create_task(steadily("looking", look, every_s=0.001))
        await done.wait()
        loop.cancel()
    assert "looking failed" in caplog.text


async def test_lost_lease_ends_the_loop() -> None:
    """Another process looks by now."""

    async def look() -> None:
        raise LeaseLostError("work")

    with pytest.raises(LeaseLostError):
        await steadily("looking", look, every_s=0.001)


async def test_hints_wake_the_loop() -> None:
    """On each of its topics, and at its interval without any."""
    hints, looks = Hints(), asyncio.Queue[None]()

    async def look() -> None:
        looks.put_nowait(None)

    async with asyncio.TaskGroup() as group:
        loop = group.create_task(on_hints("looking", look, hints, ("a", "b"), every_s=3600))
        await looks.get()
        for topic in ("a", "b"):
            hints.tell(topic)
            await looks.get()
        loop.cancel()
        quick = group.create_task(on_hints("looking", look, hints, ("a",), every_s=0.001))
        await looks.get()
        await looks.get()
        quick.cancel()
    hints.tell("a")
    assert hints._listeners["a"] == []
