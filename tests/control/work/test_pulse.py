"""Loops that hang are seen, though they raise nothing."""

from __future__ import annotations

import asyncio

import pytest

from control.work import pulse
from control.work.loop import steadily
from control.work.pulse import Pulse


async def test_a_loop_whose_look_hangs_is_silent_and_one_that_ended_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by its name; what is not running here may run elsewhere."""
    monkeypatch.setattr(pulse, "LOOK_S", 0.05)
    watched, looks = Pulse(), 0

    async def hangs() -> None:
        await asyncio.Event().wait()

    async def goes_round() -> None:
        nonlocal looks
        looks += 1

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        loops = [
            group.create_task(steadily("hangs", hangs, every_s=0.0, pulse=watched)),
            group.create_task(steadily("goes round", goes_round, every_s=0.01, pulse=watched)),
        ]
        assert watched.silent() == ()
        while watched.silent() != ("hangs",):
            await asyncio.sleep(0.01)
        for loop in loops:
            loop.cancel()
    assert looks > 1
    assert watched.silent() == ()
