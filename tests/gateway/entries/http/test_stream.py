"""A connection's buffer, its ends, and who waits for what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.core.http1 import Malformed
from gateway.entries.http.stream import BUFFER_LIMIT, Stream
from tests.gateway.core.test_http1 import parsed
from tests.gateway.entries.http.house import Peer


@asynccontextmanager
async def joined() -> AsyncIterator[tuple[Stream, Peer]]:
    """A Stream and the raw peer at its other end."""
    loop, made = asyncio.get_running_loop(), asyncio.Event()
    streams: list[Stream] = []

    def accept() -> Stream:
        streams.append(Stream(lambda _: made.set()))
        return streams[0]

    server = await loop.create_server(accept, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await made.wait()
        try:
            yield streams[0], Peer(reader, writer)
        finally:
            writer.transport.abort()
            streams[0].abort()
            await asyncio.sleep(0)


async def test_heads_one_after_the_other() -> None:
    """Empty lines before one are passed over; the end between two is no fault, within one it is."""
    async with joined() as (stream, peer):
        await peer.send("\n\nA / B\nHost: a\n\nC /")
        assert await stream.head() == b"A / B\r\nHost: a\r\n\r\n"
        await peer.send(" D\n\n")
        assert await stream.head() == b"C / D\r\n\r\n"
        peer.writer.write_eof()
        assert await stream.head() is None
    async with joined() as (stream, peer):
        await peer.send("A /")
        peer.writer.write_eof()
        with pytest.raises(ConnectionResetError):
            await stream.head()


async def test_a_full_buffer_stops_the_peer() -> None:
    """And goes on where there is room again."""
    async with joined() as (stream, peer):
        peer.writer.write(bytes(4 << 20))
        while len(stream.buffer) < BUFFER_LIMIT:
            await stream.more()
        await asyncio.sleep(0.05)
        held = len(stream.buffer)
        assert held < 1 << 20
        taken = 0
        async with asyncio.timeout(5):
            while taken < 4 << 20:
                taken += len(stream.take(len(stream.buffer)))
                if taken < 4 << 20:
                    await stream.more()


async def test_waiting_for_room() -> None:
    """Until the peer reads; a lost one is an error."""
    async with joined() as (stream, peer):
        while not stream.clogged:
            stream.write(bytes(1 << 20))
        async with asyncio.TaskGroup() as group:
            group.create_task(stream.drained())
            await peer.reader.readexactly(1 << 20)
            while stream.clogged:
                await peer.reader.read(1 << 20)
        while not stream.clogged:
            stream.write(bytes(1 << 20))
        stream.abort()
        with pytest.raises(ConnectionResetError):
            await stream.drained()
        stream.write(b"nothing happens")
        stream.end()
        stream.close()


@pytest.mark.parametrize("framing", ["Content-Length: 5", "Transfer-Encoding: chunked"])
async def test_a_whole_body(framing: str) -> None:
    """Of either framing; what follows it stays."""
    body = "hello" if "Length" in framing else "2\nhe\n3\nllo\n0\n\n"
    async with joined() as (stream, peer):
        await peer.send(body + "next")
        assert await stream.body(parsed(framing), 10) == b"hello"
        while len(stream.buffer) < 4:
            await stream.more()
        assert stream.buffer == b"next"


async def test_bodies_that_are_no_use() -> None:
    """Too long, and cut."""
    async with joined() as (stream, peer):
        await peer.send("hello")
        with pytest.raises(Malformed) as caught:
            await stream.body(parsed("Content-Length: 5"), 4)
        assert caught.value.status == 413
    async with joined() as (stream, peer):
        await peer.send("hel")
        peer.writer.write_eof()
        with pytest.raises(ConnectionResetError):
            await stream.body(parsed("Content-Length: 5"), 5)


async def test_counting_and_naming_the_peer() -> None:
    """Bytes each way, and the address."""
    async with joined() as (stream, peer):
        await peer.send("hello")
        await stream.more()
        stream.write(b"hi")
        assert (stream.received, stream.sent, stream.peer_address()) == (5, 2, "127.0.0.1")
