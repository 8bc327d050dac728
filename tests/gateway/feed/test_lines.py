"""JSON lines over a socket: bounded, with deadlines, and honest about every kind of end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from gateway.contract.feed import LINE_LIMIT
from gateway.feed.lines import Lines, LineTooLongError

Pair = tuple[Lines, socket.socket]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    """Lines, and the bare other end."""
    near, far = socket.socketpair()
    far.setblocking(False)
    lines = await Lines.over(near, write_s=0.3)
    with far:
        yield lines, far
        await lines.close()


async def test_messages_pass_one_a_line(pair: Pair) -> None:
    """Whatever text a message holds, it is one line."""
    lines, far = pair
    await lines.write({"name": "作业\n1"})
    assert await asyncio.get_running_loop().sock_recv(far, 100) == '{"name":"作业\\n1"}\n'.encode()
    far.send(b'{"ack":1}\n{"ack":2}\n')
    assert [await lines.read(), await lines.read()] == [{"ack": 1}, {"ack": 2}]


@pytest.mark.parametrize("bytes_", [b"", b'{"ack":', b"[1]\n", b"nonsense\n", b"\xff\n"])
async def test_anything_else_ends_the_connection(pair: Pair, bytes_: bytes) -> None:
    """An end within a line, or a line that is no object, is told as a broken connection."""
    lines, far = pair
    far.send(bytes_)
    far.shutdown(socket.SHUT_WR)
    with pytest.raises(ConnectionError):
        await lines.read()


async def test_a_line_without_end_is_given_up(pair: Pair) -> None:
    """A peer that never ends its line costs the limit and no more."""
    lines, far = pair

    async def pour() -> None:
        for _ in range(LINE_LIMIT // 65536 + 40):
            await asyncio.get_running_loop().sock_sendall(far, b"x" * 65536)

    async with asyncio.TaskGroup() as group:
        pouring = group.create_task(pour())
        with pytest.raises(ConnectionError):
            await lines.read()
        pouring.cancel()


async def test_a_peer_that_does_not_read_is_given_up(pair: Pair) -> None:
    """Writing to it fails at the deadline instead of filling memory."""
    lines, _ = pair

    async def pour() -> None:
        for _ in range(100):
            await lines.write({"text": "x" * 100_000})

    with pytest.raises(ConnectionError, match="did not read"):
        await pour()


async def test_too_long_a_message_is_not_sent(pair: Pair) -> None:
    """The caller learns before a byte has gone, and may split it."""
    lines, far = pair
    with pytest.raises(LineTooLongError):
        await lines.write({"text": "x" * LINE_LIMIT})
    await lines.write({"ok": True})
    assert await asyncio.get_running_loop().sock_recv(far, 100) == b'{"ok":true}\n'
