"""A stream looks like a connection: bodies, their ends, trailers, switches and truncation in both versions."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.entries.http2 import connection, exchange, peer
from tests.gateway.entries.http2.client import client
from tests.gateway.entries.http2.house import echo_bodies, holds, open_https_house, says


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "200", b"abc"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "200", b"abc"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200", b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "204", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", "304", b""),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", "404", b"no"),
    ],
)
async def test_an_answer_and_its_end(tmp_path: Path, answer: bytes, status: str, body: bytes) -> None:
    """Whatever its framing was; nothing of it is left in the fields (B28, B29)."""
    async with open_https_house(tmp_path, says(answer)) as house, client(house) as person:
        number = await person.ask()
        assert await person.answer(number) == (status, body)
        assert "transfer-encoding" not in person.heads[number] and "connection" not in person.heads[number]
        assert (await person.answer(await person.ask()))[0] == status


async def test_the_answer_to_head(tmp_path: Path) -> None:
    """Keeps its length and has no content."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
    async with open_https_house(tmp_path, says(answer)) as house, client(house) as person:
        number = await person.ask("HEAD")
        assert await person.answer(number) == ("200", b"")
        assert person.heads[number]["content-length"] == "7"


async def test_an_answer_that_the_connections_end_completes(tmp_path: Path) -> None:
    """An orderly one."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        assert await person.answer(await person.ask()) == ("200", b"abc")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxx\r\n",
    ],
)
async def test_a_truncated_answer_never_looks_complete(tmp_path: Path, answer: bytes) -> None:
    """The stream is reset (B22 to B27); the connection goes on."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask()
        with pytest.raises(ConnectionResetError):
            await person.answer(number)
        assert number not in person.ended
        with pytest.raises(ConnectionResetError):
            await person.answer(await person.ask())


async def test_cookies_and_fields_stay_several_and_the_apps_wider_ones_go(tmp_path: Path) -> None:
    """The rules are those of HTTP/1.1 (B33)."""
    answer = (
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; Domain=proxy.localhost\r\n"
        b"Set-Cookie: __Host-starlight_entry=evil\r\nX-Starlight-User: admin\r\nContent-Length: 0\r\n\r\n"
    )
    async with open_https_house(tmp_path, says(answer)) as house, client(house) as person:
        number = await person.ask()
        await person.answer(number)
        assert person.heads[number]["set-cookie"].split("\n") == ["a=1", "b=2"]
        assert "x-starlight-user" not in person.heads[number]


async def test_trailers_do_not_complete_a_body_that_is_short(tmp_path: Path) -> None:
    """Content was announced and did not come: the stream ends, and the app hears that the request is none."""
    asked, ended = asyncio.Event(), asyncio.Event()

    async def app(reader: Reader, _writer: Writer) -> None:
        await reader.readuntil(b"abc")
        asked.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", ("content-length", "10"), body=b"abc", end=False)
        await asyncio.wait_for(asked.wait(), 5)
        person.h2.send_headers(number, [("x-sum", "1")], end_stream=True)
        await person.flush()
        with pytest.raises(ConnectionResetError):
            await person.answer(number)
        await asyncio.wait_for(ended.wait(), 5)
        await holds(lambda: len(house.gate.visits) == 0)


async def test_trailers_of_both_directions(tmp_path: Path) -> None:
    """They end the stream, and a chunked body on the app's side."""
    seen = bytearray()

    async def app(reader: Reader, writer: Writer) -> None:
        seen.extend(await reader.readuntil(b"\r\n\r\n"))
        seen.extend(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", body=b"abc", end=False)
        person.h2.send_headers(number, [("x-check", "7")], end_stream=True)
        await person.flush()
        assert await person.answer(number) == ("200", b"x")
        assert person.trailers[number] == {"x-sum": "1"}
        assert seen.endswith(b"3\r\nabc\r\n0\r\nx-check: 7\r\n\r\n")


@pytest.mark.parametrize("trailer", [("cookie", "a=1"), ("x-starlight-user", "admin"), ("content-length", "3")])
async def test_trailers_that_belong_in_the_head_are_malformed(tmp_path: Path, trailer: tuple[str, str]) -> None:
    """An app that merges them would be deceived."""
    async with open_https_house(tmp_path, says(b"")) as house, client(house) as person:
        number = await person.ask("POST", "/", body=b"abc", end=False)
        person.h2.send_headers(number, [trailer], end_stream=True)
        await person.flush()
        assert (await person.answer(number))[0] == "400"


async def test_uploads_keep_their_framing(tmp_path: Path) -> None:
    """Announced lengths stay, others become chunks."""
    async with open_https_house(tmp_path, echo_bodies) as house, client(house) as person:
        status, body = await person.answer(await person.ask("POST", "/", body=b"abc"))
        assert status == "200" and b"Transfer-Encoding: chunked\r\n" in body
        assert body.endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")


async def test_interim_answers_and_100_continue(tmp_path: Path) -> None:
    """103 is passed on; the body is asked for once the app does."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        assert await reader.readexactly(3) == b"abc"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        expects = [("content-length", "3"), ("expect", "100-continue")]
        number = await person.ask("PUT", "/", *expects, end=False)
        await person.until(lambda: len(person.interim[number]) == 2)
        assert person.interim[number] == ["103", "100"]
        person.h2.send_data(number, b"abc", end_stream=True)
        await person.flush()
        assert (await person.answer(number))[0] == "200"


async def test_a_refused_upload_is_not_asked_for(tmp_path: Path) -> None:
    """401 without 100; the rest of the body is declined without an error (RFC 9113, 8.1)."""
    from gateway.contract.routes import Level

    async with open_https_house(tmp_path, says(b""), level=Level.PRIVATE) as house, client(house) as person:
        number = await person.ask("PUT", "/", ("content-length", "9"), ("expect", "100-continue"), end=False)
        assert (await person.answer(number))[0] == "401"
        assert not person.interim[number]
        await person.until(lambda: number in person.resets)
        assert person.resets[number] == 0


async def test_a_large_body_in_both_directions_arrives_whole(tmp_path: Path) -> None:
    """With flow control in between, compared by its hash."""
    content = hashlib.shake_256(b"seed").digest(3 << 20)

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content))
        left = len(content)
        while left:
            data = await reader.read(65536)
            left -= len(data)
            writer.write(data)
            await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", ("content-length", str(len(content))), end=False)
        at = 0
        while at < len(content):
            room = min(person.h2.local_flow_control_window(number), 16384, len(content) - at)
            if room:
                person.h2.send_data(number, content[at : at + room], end_stream=at + room == len(content))
                at += room
                await person.flush()
            else:
                assert await person.more()
        status, body = await person.answer(number)
        assert (status, hashlib.sha256(body).digest()) == ("200", hashlib.sha256(content).digest())


async def test_tokens_of_an_event_stream_are_not_held_back(tmp_path: Path) -> None:
    """Each arrives before the next is made (B32)."""
    go_on = asyncio.Semaphore(0)

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for token in (b"a", b"b", b"c"):
            await go_on.acquire()
            writer.write(b"1\r\n%b\r\n" % token)
            await writer.drain()
        await reader.read()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask()
        for seen in (b"", b"a", b"ab", b"abc"):
            await person.until(lambda: number in person.heads and person.bodies[number] == seen)  # noqa: B023
            go_on.release()


async def test_a_slow_reader_stops_the_app_and_pins_no_memory(tmp_path: Path) -> None:
    """A stream whose window stays shut holds little; others on the connection are served meanwhile."""
    sent = 0

    async def app(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/quick" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 30))
        while True:
            writer.write(bytes(65536))
            sent += 65536
            await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        person.acknowledges = False
        number = await person.ask()
        await person.until(lambda: len(person.bodies[number]) == 65535)
        person.h2.increment_flow_control_window(65535)  # the connection's; the stream's stays shut
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 12 << 20  # what waits is in the kernel's buffers of two loopback sockets
        assert await person.answer(await person.ask("GET", "/quick")) == ("200", b"ok")


async def test_a_slow_app_stops_the_uploader(tmp_path: Path) -> None:
    """No more than the stream's window waits here; another stream is served meanwhile."""
    done = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/quick" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.transport.pause_reading()  # type: ignore[attr-defined] # a socket's transport can
        await done.wait()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", ("content-length", str(1 << 30)), end=False)
        sent = stalled = 0
        while stalled < 10:
            room = min(person.h2.local_flow_control_window(number), 16384)
            if room:
                person.h2.send_data(number, bytes(room))
                sent, stalled = sent + room, 0
                await person.flush()
                continue
            stalled += 1
            try:
                async with asyncio.timeout(0.02):
                    await person.more()
            except TimeoutError:
                continue
        assert sent < 12 << 20
        assert person.h2.outbound_flow_control_window >= peer.CONNECTION_WINDOW - 2 * peer.STREAM_WINDOW
        assert await person.answer(await person.ask("GET", "/quick")) == ("200", b"ok")
        done.set()


async def test_an_answer_that_nobody_takes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is complete, and waits in vain for a window: after a while its stream is reset."""
    monkeypatch.setattr(connection, "STALL_S", 0.1)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
    async with open_https_house(tmp_path, says(answer)) as house, client(house, window=4) as person:
        person.acknowledges = False
        number = await person.ask()
        with pytest.raises(ConnectionResetError):
            await person.answer(number)
        assert person.bodies[number] == b"0123"
        await holds(lambda: len(house.gate.visits) == 0)


async def test_many_tiny_frames_for_a_slow_app_wait_as_one_piece(tmp_path: Path) -> None:
    """What is held does not grow with the number of frames."""
    read = asyncio.Event()
    seen = bytearray()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await read.wait()
        while not seen.endswith(b"0\r\n\r\n"):
            seen.extend(await reader.read(65536))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", end=False)
        for _ in range(300):
            person.h2.send_data(number, b"x")
        person.h2.end_stream(number)
        await person.flush()
        read.set()
        assert (await person.answer(number))[0] == "200"
        assert seen.count(b"x") == 300


def test_what_may_wait_is_less_than_a_few_reads() -> None:
    """The figures that bound a connection's memory."""
    assert exchange.OUT_LOW < exchange.OUT_HIGH <= 64 * 1024
    assert peer.STREAM_WINDOW <= peer.CONNECTION_WINDOW <= 1024 * 1024


async def test_an_answer_that_ends_after_a_long_rest_has_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is counted against its taker is the time since then."""
    go_on, served = asyncio.Event(), []
    begin = connection.Served.begin

    def noted(self: connection.Served) -> None:
        served.append(self)
        begin(self)

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        await go_on.wait()
        writer.write(b"56789")
        await writer.drain()

    monkeypatch.setattr(connection.Served, "begin", noted)
    async with open_https_house(tmp_path, app) as house, client(house, window=5) as person:
        person.acknowledges = False
        number = await person.ask()
        await person.until(lambda: person.bodies[number] == b"01234")
        served[0].moved_at -= 2 * connection.STALL_S
        go_on.set()
        await holds(lambda: served[0].sending is exchange.Sending.ENDING)
        await asyncio.sleep(0.2)  # the sweep has come by
        person.h2.increment_flow_control_window(5, number)
        await person.flush()
        assert await person.answer(number) == ("200", b"0123456789")
