"""Requests and answers on their way: each case is one that broke some proxy (numbers: research/http.md, section 3)."""

from __future__ import annotations

import asyncio
import socket
import struct
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from tests.gateway.entries.http.house import App, House, Peer, crlf, open_house, visit


async def echo_heads(reader: Reader, writer: Writer) -> None:
    """An app that answers each request with its head."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)


def says(text: str, then: Callable[[Writer], None] | None = None) -> App:
    """An app that reads one head, sends this and does that."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(text))
        await writer.drain()
        if then is not None:
            then(writer)
        else:
            await reader.read()

    return app


def reset(writer: Writer) -> None:
    """Ends a connection by RST."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def close(writer: Writer) -> None:
    """Ends a connection in order."""
    writer.close()


def get(house: House, path: str = "/", more: str = "") -> str:
    """A GET of the entry."""
    return f"GET {path} HTTP/1.1\nHost: {house.host}\n{more}\n"


async def cut_after(peer: Peer) -> bytes:
    """What came before the connection was cut; it must not have ended in order."""
    got = b""
    async with asyncio.timeout(5):
        try:
            while data := await peer.reader.read(1000):
                got += data
        except ConnectionResetError:
            return got
    pytest.fail("the connection ended in order")


async def test_requests_follow_each_other_on_both_connections(tmp_path: Path) -> None:
    """Targets stay as they were sent, and one upstream connection serves them."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        for path in ("/a%2Fb?x=1;y=%20", "/%41//../c", "/a%zz"):
            await peer.send(get(house, path))
            status, _, body = await peer.response()
            assert status == 200
            assert body.startswith(f"GET {path} HTTP/1.1\r\nHost: {house.host}\r\n".encode())
        assert len(house.calls) == 1


async def test_what_an_app_learns_of_its_visitor(tmp_path: Path) -> None:
    """The gateway's word only, and nothing of its own secrets."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        mine = f"X-Forwarded-For: 6.6.6.6\nX_Forwarded_For: 6.6.6.6\nCookie: a=1; {house.ticket()}\nAuthorization: b\n"
        mine += "X-Starlight-User: root\nX_Starlight_Identity: forged\n"
        await peer.send(get(house, more=mine))
        _, _, body = await peer.response()
        assert b"6.6.6.6" not in body
        assert body.lower().count(b"starlight") == 1
        assert b"X-Starlight-User: alice\r\n" in body
        assert b"X-Forwarded-For: 127.0.0.1\r\n" in body
        assert f"X-Forwarded-Host: {house.host}\r\n".encode() in body
        assert b"Cookie: a=1\r\nAuthorization: b\r\n" in body


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n", reset),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n", close),
        ("HTTP/1.1 200 OK\nContent-Length: 9\n\nabc", close),
        ("HTTP/1.1 200 OK\nContent-Length: 9\n\nabc", reset),
        ("HTTP/1.1 200 OK\nContent-Length: 123\n\n", close),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", close),
        ("HTTP/1.1 200 OK\n\nabc", reset),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nxyz\n", None),
    ],
    ids=[
        "chunked RST",
        "chunked FIN",
        "length FIN",
        "length RST",
        "no body",
        "no chunk",
        "until close RST",
        "bad chunk",
    ],
)
async def test_truncated_answers_are_cut(tmp_path: Path, answer: str, then: Callable[[Writer], None] | None) -> None:
    """Whatever its framing, part of an answer is never delivered as the whole (B22, B23, B24, B26, B27)."""
    gate = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(answer))
        await writer.drain()
        await gate.wait()  # the client has the first part: what follows cannot overtake it
        if then is not None:
            then(writer)
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        if then is None:
            assert b"xyz" not in await cut_after(peer)
            return
        await peer.head()
        gate.set()
        assert b"0\r\n\r\n" not in await cut_after(peer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1\n\nx",
        "HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\nx",
        "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\nx",
        "HTTP/1.1 200 OK\nA : b\n\n",
        "HTTP/1.1 101 Switching Protocols\nUpgrade: foo\nConnection: upgrade\n\n",
        "HTTP/1.1 100 Continue\n\n" * 40,
        "nonsense\n\n",
        "HTTP/1.1 200 OK\nA: " + "b" * 70_000 + "\n\n",
    ],
    ids=["nothing", "lengths", "both", "coding", "blank", "101", "100s", "nonsense", "long"],
)
async def test_faulty_answers_become_502(tmp_path: Path, answer: str) -> None:
    """While nothing was sent on, the person is told (B04, B31); the connection may stay."""
    async with open_house(tmp_path, says(answer, close), level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nContent-Length: 0\n\n")
        status, head = 100, b""
        while status == 100:
            status, head, _ = await peer.response()
        assert status == 502
        assert b"X-Starlight-Reason: app_fault\r\n" in head


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("GET", "HTTP/1.1 204 No Content\n\n"),
        ("GET", "HTTP/1.1 204 No Content\nTransfer-Encoding: chunked\n\n"),
        ("GET", 'HTTP/1.1 304 Not Modified\nETag: "x"\nContent-Length: 55\n\n'),
        ("HEAD", "HTTP/1.1 200 OK\nContent-Length: 55\n\n"),
        ("HEAD", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"),
    ],
)
async def test_answers_without_a_body_are_instant(tmp_path: Path, method: str, answer: str) -> None:
    """The connection stays, and a HEAD's length stays what it was (B28, B29)."""

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(crlf(answer))

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        for _ in range(2):
            await peer.send(get(house).replace("GET", method))
            head = await peer.head()
            assert head.startswith(answer.partition("\n")[0].encode())
            assert (b"Content-Length: 55" in head) == ("55" in answer)


async def test_events_come_as_they_are_sent(tmp_path: Path) -> None:
    """Head and each event pass at once, whatever Accept says (B32)."""
    ask = asyncio.Queue[bytes]()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            event = await ask.get()
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        await peer.head()
        for number in range(5):
            ask.put_nowait(b"data: %d\n\n" % number)
            assert await peer.exactly(14) == b"9\r\ndata: %d\n\n\r\n" % number


async def test_five_cookies_and_gzip_stay_as_they_are(tmp_path: Path) -> None:
    """Lines are not merged, bodies not decoded (B33, B34)."""
    cookies = "".join(f"Set-Cookie: c{number}=v; Path=/\n" for number in range(5))
    body = bytes(range(256)) * 4
    answer = f"HTTP/1.1 200 OK\n{cookies}Content-Encoding: gzip\nContent-Length: {len(body)}\n\n"

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(answer) + body)
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        status, head, got = await peer.response()
        assert (status, got) == (200, body)
        assert crlf(cookies) in head
        assert b"Content-Encoding: gzip\r\n" in head


async def test_an_answer_until_close_ends_in_order(tmp_path: Path) -> None:
    """The one framing whose end is the connection's."""
    app = says("HTTP/1.0 200 OK\n\nabc", close)
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        assert b"Connection: close\r\n" in await peer.head()
        assert await peer.rest() == b"abc"


async def test_bytes_after_an_answer_reach_nobody(tmp_path: Path) -> None:
    """They would be taken for the next answer (B30)."""
    app = says("HTTP/1.1 200 OK\nContent-Length: 2\n\nokHTTP/1.1 200 OK\nContent-Length: 4\n\nevil")
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        for _ in range(2):
            await peer.send(get(house))
            assert (await peer.response())[2] == b"ok"
        assert len(house.calls) == 2


async def test_early_hints_and_trailers_pass(tmp_path: Path) -> None:
    """Interim responses and the trailer section are part of the message."""
    final = "HTTP/1.1 200 OK\nTrailer: X-Sum\nTransfer-Encoding: chunked\n\n2\nok\n0\nX-Sum: 1\n\n"
    app = says("HTTP/1.1 103 Early Hints\nLink: </a>\n\n" + final)
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        assert await peer.head() == b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        assert await peer.head() == crlf(final.partition("2\n")[0])
        assert await peer.exactly(22) == crlf("2\nok\n0\nX-Sum: 1\n\n")


async def test_http_1_0_gets_no_chunks_and_no_interim(tmp_path: Path) -> None:
    """The content alone, ended by the connection."""
    app = says("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n1\n!\n0\n\n")
    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"GET / HTTP/1.0\nHost: {house.host}\n\n")
        head = await peer.head()
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"chunked" not in head
        assert await peer.rest() == b"ok!"


# Request bodies.


async def count_body(reader: Reader, writer: Writer) -> None:
    """An app that answers with the number of bytes after the head, for a body that ends in `end`."""
    await reader.readuntil(b"\r\n\r\n")
    count = 0
    while not (data := await reader.read(1 << 16)).endswith(b"end"):
        count += len(data)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n%8d" % (count + len(data)))
    await reader.read()


# Upgrades.


UPGRADE = "Connection: keep-alive, Upgrade\nUpgrade: WebSocket\nSec-WebSocket-Key: x\nSec-WebSocket-Protocol: a, b\n"
SWITCH = "HTTP/1.1 101 Switching Protocols\nConnection: upgrade\nUpgrade: websocket\nSec-WebSocket-Protocol: b\n\n"


async def test_the_first_bytes_of_a_tunnel_are_not_lost(tmp_path: Path) -> None:
    """Those in the segment of the 101 (B01), and those behind the request (B02)."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"Sec-WebSocket-Protocol: a, b\r\n" in head
        assert b"Connection: Upgrade\r\nUpgrade: WebSocket\r\n" in head
        writer.write(crlf(SWITCH) + b"\x81\x02hi")
        while data := await reader.read(100):
            writer.write(data)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(crlf(get(house, more=UPGRADE)) + b"frame")
        head = await peer.head()
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"Sec-WebSocket-Protocol: b\r\n" in head
        assert await peer.exactly(9) == b"\x81\x02hiframe"
        await peer.send(b"more")
        assert await peer.exactly(4) == b"more"


async def test_a_tunnel_ends_side_by_side(tmp_path: Path) -> None:
    """An end is passed on, and what the other side still says arrives (B21)."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(SWITCH))
        got = await reader.read()
        await asyncio.sleep(0.05)
        writer.write(b"got " + got)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more=UPGRADE))
        await peer.head()
        await peer.send(b"all")
        peer.writer.write_eof()
        assert await peer.rest() == b"got all"


async def test_a_reset_goes_through_a_tunnel(tmp_path: Path) -> None:
    """It does not become an orderly end."""
    async with open_house(tmp_path, says(SWITCH + "x", reset), level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more=UPGRADE))
        await cut_after(peer)


@pytest.mark.parametrize("offer", ["h2c", "notupgrade"])
async def test_upgrades_nobody_takes_are_plain_requests(tmp_path: Path, offer: str) -> None:
    """h2c is not passed on; an app that ignores an offer answers as usual (B15, B17)."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more=f"Connection: Upgrade\nUpgrade: {offer}\nHTTP2-Settings: x\n"))
        status, _, body = await peer.response()
        assert status == 200
        assert (b"Upgrade: notupgrade" in body) == (offer == "notupgrade")
        assert b"HTTP2-Settings" not in body


# Upstream connections that are kept.


async def test_a_request_is_repeated_when_the_kept_connection_ended(tmp_path: Path) -> None:
    """GET goes again on a fresh one, POST never tried the old one (B46)."""
    closed = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")
        closed.set()
        reset(writer)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        assert (await peer.response())[2] == b"ok"
        await peer.send(get(house))
        assert (await peer.response())[2] == b"ok"
        assert closed.is_set()
        closed.clear()
        await peer.send(f"POST / HTTP/1.1\nHost: {house.host}\nContent-Length: 0\n\n")
        assert (await peer.response())[2] == b"ok"
        assert not closed.is_set()
        assert len(house.calls) == 3
