"""Long bodies through pipes: the same as by copying, from either side, and their bad ends."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
import struct
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from gateway.entries.http import conduit as conduits
from gateway.entries.http.conduit import Conduit
from gateway.wire import journal, splice
from gateway.wire.splice import Pipes
from tests.gateway.entries.http.house import App, House, Peer, crlf, open_house, visit

DATA = os.urandom(5_000_000)
DIGEST = hashlib.sha256(DATA).hexdigest().encode()


class Seen:
    """The pipes of the test's own, and how many conduits were made."""

    def __init__(self) -> None:
        self.pipes = Pipes()
        self.conduits = 0


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Counts conduits; at the end no descriptor of one is left open."""
    seen = Seen()
    monkeypatch.setattr(conduits, "PIPES", seen.pipes)

    def made(self: Conduit, *told: object) -> None:
        seen.conduits += 1
        plain(self, *told)  # type: ignore[arg-type]

    plain = Conduit.__init__
    monkeypatch.setattr(Conduit, "__init__", made)
    yield seen
    assert len(seen.pipes) == seen.pipes.made


async def app(reader: Reader, writer: Writer) -> None:
    """GET: DATA; POST: the digest of what came. Both on a connection that goes on."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DATA) + DATA)
            await writer.drain()
        else:
            digest = hashlib.sha256(await reader.readexactly(len(DATA))).hexdigest().encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(digest) + digest)


def head(house: House, method: str = "GET") -> bytes:
    """A request's head."""
    length = f"Content-Length: {len(DATA)}\n" if method == "POST" else ""
    return crlf(f"{method} / HTTP/1.1\nHost: {house.host}\n{length}\n")


@pytest.mark.parametrize("way", ["pipe", "copy"])
async def test_bodies_arrive_unchanged_and_the_connection_goes_on(
    tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Down and up, twice on one connection; the visit counts the same either way."""
    if way == "copy":
        monkeypatch.setattr(splice, "CAN_SPLICE", False)
    told: list[journal.Ended] = []
    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        house.gate.visits.tell = told.append
        async with visit(house) as peer:
            for _ in range(2):
                await peer.send(head(house))
                _, _, body = await peer.response()
                assert hashlib.sha256(body).hexdigest().encode() == DIGEST
                await peer.send(head(house, "POST") + DATA)
                assert (await peer.response())[2] == DIGEST
        await asyncio.wait_for(house.gate.visits.wait_none(), 5)
        assert len(house.calls) == 3  # a POST is not sent on a connection that rested
    assert told[0].inward > 2 * len(DATA)
    assert told[0].outward > 2 * len(DATA)
    assert seen.conduits == (4 if way == "pipe" else 0)


async def test_the_next_request_may_wait_behind_a_body(tmp_path: Path, seen: Seen) -> None:
    """What follows the upload's last byte is the next head."""
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        both = head(house, "POST") + DATA + head(house)
        sending = asyncio.get_running_loop().create_task(peer.send(both))
        assert (await peer.response())[2] == DIGEST
        assert hashlib.sha256((await peer.response())[2]).hexdigest().encode() == DIGEST
        await sending
        assert seen.conduits == 2


def _writes_and(end: str) -> App:
    async def half(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(DATA) + DATA[:-1])
        await writer.drain()
        if end == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    return half


@pytest.mark.parametrize("end", ["close", "reset"])
async def test_a_truncated_download_never_looks_complete(tmp_path: Path, seen: Seen, end: str) -> None:
    """The app ends, or breaks off, one byte before the end."""
    async with open_house(tmp_path, _writes_and(end), level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(head(house))
        assert (await peer.head()).startswith(b"HTTP/1.1 200")
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await peer.exactly(len(DATA))
        with pytest.raises(ConnectionResetError):
            await peer.rest()
    assert seen.conduits == 1


async def test_a_truncated_upload_never_looks_complete(tmp_path: Path, seen: Seen) -> None:
    """The person ends one byte before the end: the app sees a reset, not an end."""
    ended: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

    async def takes(reader: Reader, writer: Writer) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(len(DATA))
        except (ConnectionError, asyncio.IncompleteReadError) as fault:
            ended.set_result(fault)
            raise

    async with open_house(tmp_path, takes, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(head(house, "POST") + DATA[:-1])
        peer.writer.write_eof()
        assert isinstance(await asyncio.wait_for(ended, 10), ConnectionResetError)
    assert seen.conduits == 1


async def _stuck(house: House, peer: Peer) -> None:
    """Waits until a download moves no more, because nobody reads it."""
    before = -1
    while (visit := next(iter(house.gate.visits.live().values()), None)) is None or before != visit.outward:
        before = -1 if visit is None else visit.outward
        await asyncio.sleep(0.15)
    assert not peer.reader.at_eof()


def endless(written: list[int]) -> App:
    """An app that writes for as long as it is let, and notes how much that was, and its end by -1."""

    async def write(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 40))
        try:
            while True:
                writer.write(DATA[:65536])
                await writer.drain()
                written.append(65536)
        finally:
            written.append(-1)

    return write


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.entries.http.SWEEP_S", 0.05)


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("end", ["withdrawn", "left", "reset"])
async def test_a_slow_reader_stops_the_app_and_the_end_of_either_is_that_of_both(
    tmp_path: Path, seen: Seen, end: str
) -> None:
    """Nothing piles up; a withdrawal cuts within a second, and so does the person who goes."""
    written: list[int] = []
    async with open_house(tmp_path, endless(written), level=Level.OPEN) as house:
        async with visit(house, limit=1024) as peer:
            await peer.send(head(house))
            await _stuck(house, peer)
            assert sum(written) < 64 * splice.PIPE_BYTES
            assert seen.conduits == 1
            if end == "withdrawn":
                house.remove(house.entry)
            elif end == "reset":
                linger = struct.pack("ii", 1, 0)
                peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if end != "withdrawn":
                peer.writer.transport.abort()
            async with asyncio.timeout(1):
                while written[-1] != -1:
                    await asyncio.sleep(0.01)
            if end == "withdrawn":
                with contextlib.suppress(asyncio.IncompleteReadError), pytest.raises(ConnectionResetError):
                    await peer.rest()
        await asyncio.wait_for(house.gate.visits.wait_none(), 5)


async def test_without_a_pipe_bodies_are_copied(tmp_path: Path, seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many pipes as there may be are in use, or no descriptor is left: the body comes all the same."""
    monkeypatch.setattr(splice, "LIMIT", 0)
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        for _ in range(2):
            await peer.send(head(house))
            assert (await peer.response())[2] == DATA
            monkeypatch.setattr(splice, "LIMIT", 1)
            monkeypatch.setattr(os, "dup", _no_more)
    assert seen.conduits == 0


def _no_more(_descriptor: int) -> int:
    raise OSError(24, "Too many open files")


async def test_short_bodies_and_those_of_unknown_length_are_copied(tmp_path: Path, seen: Seen) -> None:
    """A pipe would cost more than it saves; and chunks must be followed."""

    async def chunks(reader: Reader, writer: Writer) -> None:
        for answer in (
            b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + DATA[:100000],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf4240\r\n" + DATA[:1000000] + b"\r\n0\r\n\r\n",
        ):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)

    async with open_house(tmp_path, chunks, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(head(house))
        assert (await peer.response())[2] == DATA[:100000]
        await peer.send(head(house))
        await peer.head()
        assert await peer.exactly(7 + 1000000 + 7) == b"f4240\r\n" + DATA[:1000000] + b"\r\n0\r\n\r\n"
    assert seen.conduits == 0
