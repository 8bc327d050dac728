"""A cancellation survives the faults that came with it."""

from __future__ import annotations

import asyncio

import pytest

from gateway import cancellation


async def _fail_when_cancelled() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise ValueError


async def _survivor(started: asyncio.Event) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_fail_when_cancelled())
            await asyncio.sleep(0)
            started.set()
            await asyncio.Event().wait()
    except* ValueError:
        pass
    cancellation.pass_on()


async def test_a_task_that_caught_faults_while_cancelled_still_ends() -> None:
    """The TaskGroup raises its faults instead of the cancellation; `pass_on` brings it back."""
    started = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        survivor = group.create_task(_survivor(started))
        await started.wait()
        survivor.cancel()
    assert survivor.cancelled()


async def test_nothing_is_raised_without_a_cancellation() -> None:
    """A task that nobody cancelled goes on."""
    cancellation.pass_on()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await asyncio.sleep(1)
    cancellation.pass_on()
