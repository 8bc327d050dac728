"""Requests with bodies on their way, and people who leave in the middle (numbers: research/http.md, section 3)."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from tests.gateway.entries.http.house import crlf, open_house, visit
from tests.gateway.entries.http.test_passage import count_body, get, reset, says


async def test_a_body_is_streamed_with_back_pressure(tmp_path: Path) -> None:
    """An app that does not read stops the person's sending; nothing piles up in between (B62)."""
    size, go = 24 << 20, asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await go.wait()
        await count_body(reader, writer)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        peer.writer.transport.set_write_buffer_limits(high=0)
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nContent-Length: {size}\n\n")
        sent = 0
        async with asyncio.timeout(30):
            while sent < size - 3:
                piece = min(1 << 16, size - 3 - sent)
                peer.writer.write(bytes(piece))
                sent += piece
                if not go.is_set():
                    try:
                        async with asyncio.timeout(0.3):
                            await peer.writer.drain()
                    except TimeoutError:
                        assert sent < 16 << 20
                        go.set()
                await peer.writer.drain()
            await peer.send(b"end")
            assert int((await peer.response())[2]) == size


async def test_a_chunked_body_passes_as_it_is(tmp_path: Path) -> None:
    """Framing, extensions and trailers included, and pipelined requests wait their turn."""
    body = b"3;x=y\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            got = await reader.readexactly(len(body)) if b"chunked" in head else head
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(got) + got)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        post = crlf(f"POST / HTTP/1.1\nHost: {house.host}\nTransfer-Encoding: chunked\n\n") + body
        await peer.send(post + crlf(get(house, "/next")))
        assert (await peer.response())[2] == body
        assert (await peer.response())[2].startswith(b"GET /next ")


@pytest.mark.parametrize("chunk", ["1\nab\r\n", "zz\r\n", "3\r\nabcdef"])
async def test_a_body_in_doubt_is_400(tmp_path: Path, chunk: str) -> None:
    """And the app's connection is cut, so that it cannot take the part for the whole (B38)."""
    async with open_house(tmp_path, count_body, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nTransfer-Encoding: chunked\n\n")
        await peer.send(chunk.encode())
        status, head, _ = await peer.response()
        assert status == 400
        assert b"Connection: close\r\n" in head


async def test_continue_is_the_apps_to_say(tmp_path: Path) -> None:
    """100 is relayed, then the body flows (B45a)."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await count_body_of(reader, writer)

    async def count_body_of(reader: Reader, writer: Writer) -> None:
        assert await reader.readexactly(3) == b"abc"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nExpect: 100-continue\nContent-Length: 3\n\n")
        assert await peer.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await peer.send(b"abc")
        assert (await peer.head()).startswith(b"HTTP/1.1 200 ")


async def test_an_early_refusal_needs_no_body(tmp_path: Path) -> None:
    """The app's 401 arrives, no body is asked for, and the connection ends (B45b)."""
    app = says("HTTP/1.1 401 Unauthorized\nContent-Length: 0\n\n")
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nExpect: 100-continue\nContent-Length: 3\n\n")
        head = await peer.head()
        assert head.startswith(b"HTTP/1.1 401 ")
        assert b"Connection: close\r\n" in head
        assert await peer.rest() == b""


async def test_a_silent_app_gets_the_body_all_the_same(tmp_path: Path) -> None:
    """After a second the gateway says 100 itself, and does not relay a late one (B45c)."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(3)
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nExpect: 100-continue\nContent-Length: 3\n\n")
        assert await peer.head() == b"HTTP/1.1 100 Continue\r\n\r\n"
        await peer.send(b"abc")
        assert (await peer.head()).startswith(b"HTTP/1.1 200 ")


async def test_an_early_answer_is_not_lost_while_the_body_still_comes(tmp_path: Path) -> None:
    """413 in the middle of an upload is read, though nobody takes the rest."""
    app = says("HTTP/1.1 413 Too Large\nContent-Length: 2\n\nno")
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nContent-Length: 1000000\n\n")
        await peer.send(bytes(1000))
        status, head, body = await peer.response()
        assert (status, body) == (413, b"no")
        assert b"Connection: close\r\n" in head
        await peer.send(bytes(1000))
        assert await peer.rest() == b""


async def test_who_left_in_the_middle_is_not_waited_for(tmp_path: Path) -> None:
    """When the person is gone, the app's connection is cut as well."""
    gone = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(ConnectionResetError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.read() == b""
        gone.set()

    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        async with visit(house) as peer:
            await peer.send(get(house))
            while not house.calls:
                await asyncio.sleep(0.01)
            reset(peer.writer)
        async with asyncio.timeout(5):
            await gone.wait()


async def test_a_slow_person_gets_the_tail_of_their_last_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asked for the connection's end, and reads long after it: all of it comes, and then the end."""
    monkeypatch.setattr("gateway.entries.http.conversation.LINGER_S", 0.05)
    body = b"x" * 250_000

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        loop, sock = asyncio.get_running_loop(), socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        with sock:
            await loop.sock_connect(sock, ("127.0.0.1", house.port))
            await loop.sock_sendall(sock, crlf(get(house, more="Connection: close\n")))
            await asyncio.sleep(0.5)
            got = b""
            async with asyncio.timeout(10):
                while piece := await loop.sock_recv(sock, 65536):
                    got += piece
            assert got.endswith(body)


async def test_half_closed_people_get_their_answer(tmp_path: Path) -> None:
    """FIN after a complete request is no farewell (B21)."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.1)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        peer.writer.write_eof()
        assert (await peer.response())[2] == b"ok"
        assert await peer.rest() == b""
