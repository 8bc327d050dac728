"""Waits for descriptors on the running loop, and moves bytes through them."""

from __future__ import annotations

import asyncio
import os


async def readable(descriptor: int) -> None:
    """Returns when there is something to read, or an end to see."""
    await _ready(descriptor, write=False)


async def writable(descriptor: int) -> None:
    """Returns when a write would not block, or would fail."""
    await _ready(descriptor, write=True)


async def write_all(descriptor: int, content: bytes) -> None:
    """Writes everything to a non-blocking descriptor. Raises OSError when the other side is gone."""
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            await writable(descriptor)


async def _ready(descriptor: int, *, write: bool) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    watch, unwatch = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    watch(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        unwatch(descriptor)
