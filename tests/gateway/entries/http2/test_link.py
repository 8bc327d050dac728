"""One connection: streams take turns, windows are kept to, and what is not HTTP/2 ends it."""

from __future__ import annotations

import contextlib
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest
from h2.events import Event

from gateway.entries.http2 import link
from gateway.entries.http2.peer import Peer
from tests.gateway.entries.http.house import visit
from tests.gateway.entries.http2.client import client
from tests.gateway.entries.http2.house import echo_bodies, echo_heads, holds, open_https_house, says

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, content: bytes = b"", *, flags: int = 0, stream: int = 0) -> bytes:
    """A frame with these very bytes."""
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


async def test_streams_take_turns(tmp_path: Path) -> None:
    """A small answer is not behind a large one that was asked for before."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = 8 << 20 if b"/large" in head else 20_000
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + bytes(length))
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        large = await person.ask("GET", "/large")
        await person.until(lambda: len(person.bodies[large]) > 100_000)
        small = await person.ask("GET", "/small")
        assert len((await person.answer(small))[1]) == 20_000
        assert large not in person.ended
        assert len((await person.answer(large))[1]) == 8 << 20


async def test_many_small_frames_of_one_read_are_looked_at_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody else has a turn between a few of them and the next few; all of it arrives."""
    at_once: list[int] = []
    receive = Peer.receive_data

    def counted(peer: Peer, data: bytes, most: int) -> list[Event]:
        events = receive(peer, data, most)
        at_once.append(len(events))
        return events

    monkeypatch.setattr(Peer, "receive_data", counted)
    async with open_https_house(tmp_path, echo_bodies) as house, client(house) as person:
        number = await person.ask("POST", "/", end=False)
        person.writer.write(frame(0, b"x", stream=number) * 5000 + frame(0, flags=1, stream=number))
        status, body = await person.answer(number)
        assert (status, body.count(b"x\r\n")) == ("200", 5000)
        assert max(at_once) <= link.FRAMES_AT_ONCE + 1


async def test_windows_are_kept_to(tmp_path: Path) -> None:
    """Not one byte more than the peer has room for; the client's library would not stand for it."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000)
    async with open_https_house(tmp_path, says(answer)) as house, client(house, window=1000) as person:
        number = await person.ask()
        assert len((await person.answer(number))[1]) == 100_000


async def test_a_smaller_window_by_settings_holds_from_then_on(tmp_path: Path) -> None:
    """Also when it makes the room left negative; a larger one lets the stream go on (RFC 9113, 6.9.2)."""
    from h2.settings import SettingCodes

    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000)
    async with open_https_house(tmp_path, says(answer)) as house, client(house, window=50_000) as person:
        person.acknowledges = False
        number = await person.ask()
        await person.until(lambda: len(person.bodies[number]) == 50_000)
        person.h2.increment_flow_control_window(100_000)
        person.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1000})
        await person.flush()
        person.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100_000})
        await person.flush()
        assert len((await person.answer(number))[1]) == 100_000


async def test_ends_need_no_window(tmp_path: Path) -> None:
    """Where the connection's is shut, an answer without content still comes, beside one that waits."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/ends" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await writer.drain()
            writer.write(b"0\r\nX-T: 1\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + bytes(100_000))
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        person.acknowledges = False
        waits = await person.ask()
        await person.until(lambda: len(person.bodies[waits]) == 65535)
        ends = await person.ask("GET", "/ends")
        assert await person.answer(ends) == ("200", b"")
        assert person.trailers[ends] == {"x-t": "1"}
        person.h2.increment_flow_control_window(100_000)
        person.h2.increment_flow_control_window(100_000, waits)
        await person.flush()
        assert len((await person.answer(waits))[1]) == 100_000


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (frame(0, b"x", stream=1), 1),
        (frame(1, b"\x82", flags=4, stream=2), 1),
        (frame(9, b"x", stream=1), 1),
        (frame(4, b"\0\4\xff\xff\xff\xff"), 3),
        (frame(8, b"\x7f\xff\xff\xff"), 3),
        (frame(1, b"\xff\xff\xff\xff\xff\xff", flags=4, stream=1), 1),
        (frame(1, b"\x82\x87", flags=0, stream=1) + frame(6, bytes(8)), 1),
        (frame(1, bytes(20_000), flags=4, stream=1), 6),
        (frame(0, b"x", stream=1).replace(b"\0\0\1", b"\xff\xff\xff", 1), 6),
        (frame(5, b"\0\0\0\2\x82", flags=4, stream=1), 1),
    ],
)
async def test_what_no_peer_may_say_ends_the_connection(tmp_path: Path, said: bytes, code: int) -> None:
    """With GOAWAY and its reason (RFC 9113, 5.4.1)."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        person.writer.write(said)
        await person.writer.drain()
        await person.end()
        assert [int(told.error_code or 0) for told in person.goaways] == [code]


async def test_a_wrong_preface_ends_the_connection(tmp_path: Path) -> None:
    """HTTP/1.1 on a connection that chose HTTP/2 is not looked at."""
    from tests.gateway import tls_client

    async with open_https_house(tmp_path, echo_heads) as house:
        context = tls_client.client_context()
        context.set_alpn_protocols(["h2"])
        async with visit(house, ssl=context, server_hostname=house.entry.host) as person:
            await person.send(f"GET / HTTP/1.1\nHost: {house.host}\n\n")
            assert b"HTTP/1.1" not in await person.rest()


async def test_frames_that_come_byte_by_byte(tmp_path: Path) -> None:
    """Are put together."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        person.h2.send_headers(1, person.head(), end_stream=True)
        for byte in person.h2.data_to_send():
            person.writer.write(bytes([byte]))
            await person.writer.drain()
        assert (await person.answer(1))[0] == "200"


async def test_a_peer_that_asks_and_never_reads_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due to it is bounded, though no window bounds it."""
    monkeypatch.setattr(link, "BACKLOG_LIMIT", 50_000)
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        await person.ask("GET", "/")
        person.writer.transport.pause_reading()  # type: ignore[attr-defined] # a connection's transport can
        pings = frame(6, bytes(8)) * 1000

        async def flood() -> None:
            while not person.writer.transport.is_closing():
                person.writer.write(pings)
                await person.writer.drain()

        with contextlib.suppress(ConnectionError):
            await flood()
        await holds(lambda: len(house.gate.visits) == 0)
