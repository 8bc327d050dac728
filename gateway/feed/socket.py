"""Opens the feed to control directly, over the Unix socket that the supervisor holds for it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.contract.calls import short_path
from gateway.feed.lines import Lines


@asynccontextmanager
async def connected(path: str, *, deadline_s: float) -> AsyncIterator[Lines]:
    """A connection to the feed socket at `path`, closed at the end of the block.

    While control is away its supervisor still holds the listener: connecting works, and the greeting
    is answered by control's successor. Raises OSError or TimeoutError when nobody holds it.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        async with asyncio.timeout(deadline_s):
            with short_path(path) as short:
                await asyncio.get_running_loop().sock_connect(sock, short)
        lines = await Lines.over(sock, write_s=deadline_s)
    except BaseException:
        sock.close()
        raise
    try:
        yield lines
    finally:
        await lines.close()
