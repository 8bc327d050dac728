"""One call over a Unix socket, with descriptors on the answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.contract.calls import Answer, Handler, Peer, call, listen, serve


@asynccontextmanager
async def served(path: str, handler: Handler) -> AsyncIterator[None]:
    """A server on `path` for as long as the block runs."""
    async with asyncio.TaskGroup() as group:
        with listen(path) as listener:
            server = group.create_task(serve(listener, handler, deadline_s=5))
            yield
            server.cancel()
            await asyncio.wait([server])


async def _reply_with_pipe(message: bytes, peer: Peer) -> Answer:
    read_end, write_end = os.pipe()
    os.write(write_end, b"through the pipe")
    os.close(write_end)
    return message.upper() + f" {peer.pid}".encode(), [read_end]


async def test_call_returns_the_answer_and_its_descriptor(tmp_path: Path) -> None:
    """The answer, the caller's pid as the kernel tells it, and a working descriptor arrive together."""
    path = str(tmp_path / "bridge.sock")
    async with served(path, _reply_with_pipe):
        reply, descriptors = await call(path, b"hello", deadline_s=5)
        assert reply == f"HELLO {os.getpid()}".encode()
        assert os.read(descriptors[0], 100) == b"through the pipe"
        os.close(descriptors[0])


async def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    """A data directory may lie deep: the address limit of 107 bytes does not show."""
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    deep.mkdir(parents=True)
    path = str(deep / "bridge.sock")
    async with served(path, _reply_with_pipe):
        reply, descriptors = await call(path, b"x", deadline_s=5)
        assert reply.startswith(b"X ")
        os.close(descriptors[0])


async def test_a_handler_that_fails_ends_only_its_own_call(tmp_path: Path) -> None:
    """A call whose handler refuses its shape ends without an answer; the next one is served."""

    async def handler(message: bytes, peer: Peer) -> Answer:
        if message == b"bad":
            raise ValueError("not a message")
        return message, []

    path = str(tmp_path / "bridge.sock")
    async with served(path, handler):
        with pytest.raises(ConnectionError):
            await call(path, b"bad", deadline_s=5)
        assert await call(path, b"good", deadline_s=5) == (b"good", [])


async def test_a_silent_peer_ends_at_the_deadline(tmp_path: Path) -> None:
    """Nobody accepts: the call gives up at its deadline instead of hanging."""
    path = str(tmp_path / "bridge.sock")
    with listen(path), pytest.raises(TimeoutError):
        await call(path, b"x", deadline_s=0.2)


async def test_nobody_listening_is_a_connection_error(tmp_path: Path) -> None:
    """A missing socket is told apart from a slow one."""
    with pytest.raises((ConnectionError, FileNotFoundError)):
        await call(str(tmp_path / "none.sock"), b"x", deadline_s=1)
