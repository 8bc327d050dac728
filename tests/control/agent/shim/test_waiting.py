"""Waiting for descriptors."""

from __future__ import annotations

import asyncio
import os

import pytest

from control.agent.shim.waiting import readable, write_all


async def test_everything_is_written_however_slow_the_reader() -> None:
    """A pipe holds 64 KiB; the rest waits for room."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    content = os.urandom(300_000)
    got = b""
    async with asyncio.TaskGroup() as group:
        group.create_task(write_all(writing, content))
        while len(got) < len(content):
            await readable(reading)
            got += os.read(reading, 10_000)
    assert got == content
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        await write_all(writing, b"x")
    os.close(writing)


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    """The descriptor can be closed and its number used again."""
    reading, writing = os.pipe()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await readable(reading)
    assert not asyncio.get_running_loop().remove_reader(reading)
    os.close(reading)
    os.close(writing)
