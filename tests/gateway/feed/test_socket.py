"""Opening the feed over its Unix socket."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from gateway.contract.calls import listen
from gateway.feed.socket import connected


async def test_a_connection_speaks_lines(tmp_path: Path) -> None:
    """What is written arrives at the listener's side."""
    path = str(tmp_path / "feed.sock")
    with listen(path, kind=socket.SOCK_STREAM) as listener:
        async with connected(path, deadline_s=5) as lines:
            peer, _ = await asyncio.get_running_loop().sock_accept(listener)
            with peer:
                await lines.write({"hello": {}})
                assert await asyncio.get_running_loop().sock_recv(peer, 100) == b'{"hello":{}}\n'


async def test_nobody_listening_is_an_os_error(tmp_path: Path) -> None:
    """A missing socket ends the attempt at once; the feed tries again later."""
    with pytest.raises(OSError, match="No such file"):
        async with connected(str(tmp_path / "feed.sock"), deadline_s=5):
            pass
