"""What costs the gateway more than its peer is bounded: the known floods of HTTP/2, each ended by ENHANCE_YOUR_CALM."""

from __future__ import annotations

import asyncio
import resource
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.entries.http2 import connection, link
from tests.gateway.entries.http2.client import Client, client
from tests.gateway.entries.http2.house import echo_heads, holds, open_https_house, says
from tests.gateway.entries.http2.test_link import frame

CALM = 11
NUMBERS = int(link.IDLE_FRAMES[0]) + 1000


async def flood(person: Client, data: bytes) -> None:
    """Says it all, and waits for the end."""
    try:
        person.writer.write(data)
        await person.writer.drain()
    except ConnectionError:
        pass
    await person.end()


async def test_streams_that_are_opened_and_reset_at_once(tmp_path: Path) -> None:
    """Rapid reset (CVE-2023-44487): after some hundreds the connection ends, and few apps were dialled."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        said = bytearray()
        for number in range(1, 801, 2):
            person.h2.send_headers(number, person.head(), end_stream=True)
            person.h2.reset_stream(number, 8)
            said += person.h2.data_to_send()
        await flood(person, bytes(said))
        assert [told.error_code for told in person.goaways] == [CALM]
        assert len(house.calls) < connection.RESETS[0] + 50
        await holds(lambda: len(house.gate.visits) == 0)


async def test_a_page_that_is_left_may_reset_all_it_was_loading(tmp_path: Path) -> None:
    """As browsers do: a hundred at once, and the connection goes on."""

    async with open_https_house(tmp_path, says(b"")) as house, client(house) as person:
        numbers = [await person.ask() for _ in range(90)]
        for number in numbers:
            person.h2.reset_stream(number, 8)
        await person.flush()
        assert (await person.answer(await person.ask("GET", "/", ("te", "gzip"))))[0] == "400"
        assert not person.goaways


async def test_streams_that_we_are_made_to_reset(tmp_path: Path) -> None:
    """MadeYouReset (CVE-2025-8671): a window that overflows has us reset the stream; it counts the same."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        said = bytearray()
        for number in range(1, 801, 2):
            person.h2.send_headers(number, person.head("POST"))
            said += person.h2.data_to_send()
            said += frame(8, b"\x7f\xff\xff\xff", stream=number)
        await flood(person, bytes(said))
        assert [told.error_code for told in person.goaways][:1] == [CALM]


@pytest.mark.parametrize(
    "one",
    [
        lambda _: frame(6, bytes(8)),
        lambda _: frame(4, b"\0\1\0\0\x10\0"),
        lambda _: frame(4),
        lambda _: frame(0, stream=1),
        lambda _: frame(2, b"\0\0\0\0\x10", stream=3),
        lambda _: frame(0xBE, b"?"),
        lambda _: frame(8, b"\0\0\0\1"),
        lambda _: frame(8, b"\0\0\0\1", stream=1),
    ],
    ids=["ping", "settings", "empty settings", "empty data", "priority", "unknown", "window", "stream window"],
)
async def test_frames_that_carry_nothing(tmp_path: Path, one: Callable[[int], bytes]) -> None:
    """PING, SETTINGS, empty DATA, PRIORITY and WINDOW_UPDATE floods (CVE-2019-9512, 9515, 9518, 9513)."""
    async with open_https_house(tmp_path, says(b"")) as house, client(house) as person:
        await person.ask("POST", "/", end=False)
        await flood(person, b"".join(one(number) for number in range(NUMBERS)))
        assert [told.error_code for told in person.goaways] == [CALM]
        await holds(lambda: len(house.gate.visits) == 0)


@pytest.mark.parametrize(
    "one",
    [
        frame(4, flags=1),
        frame(6, bytes(8), flags=1),
        frame(7, bytes(8)),
        frame(10, b"\0\1ax"),
        frame(3, b"\0\0\0\x08", stream=1),
        frame(8, b"\0\0\0\1", stream=1),
        frame(0, b"x", stream=1),
    ],
    ids=["settings ack", "ping ack", "goaway", "altsvc", "reset again", "window of one gone", "data for one gone"],
)
async def test_frames_that_change_nothing(tmp_path: Path, one: bytes) -> None:
    """What nobody waits for, and what is said of a stream that is over, costs as much to look at as any frame."""
    async with open_https_house(tmp_path, says(b"")) as house, client(house) as person:
        number = await person.ask("POST", "/", end=False)
        person.h2.reset_stream(number, 8)
        await person.ask("POST", "/", end=False)
        await flood(person, one * NUMBERS)
        assert person.goaways[-1].error_code == CALM
        await holds(lambda: len(house.gate.visits) == 0)


@pytest.mark.parametrize("piece", [b"", b"\x00"], ids=["empty", "small"])
async def test_a_head_that_never_ends(tmp_path: Path, piece: bytes) -> None:
    """CONTINUATION flood (CVE-2024-27316, 24549, and 2019-9518 for empty ones): bounded by number and by size."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        await flood(person, frame(1, b"\x82", stream=1) + frame(9, piece, stream=1) * 1000)
        assert len(person.goaways) == 1 and not house.calls


async def test_a_head_that_unpacks_to_much(tmp_path: Path) -> None:
    """HPACK bomb (CVE-2016-6581): one field of 4,000 bytes in the table, named ten thousand times."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        first = person.h2.encoder.encode([*person.head(), ("x-bomb", "b" * 4000)])
        person.writer.write(frame(1, first, flags=5, stream=1))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await flood(person, frame(1, first[:0] + b"\xbe" * 10_000, flags=5, stream=3))
        assert len(person.goaways) == 1
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024


async def test_a_connection_that_says_nothing_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one whose only head does not get on."""
    monkeypatch.setattr(connection, "HEAD_S", 0.1)
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        person.writer.write(frame(1, b"\x82", stream=1))
        await person.end()


async def test_many_streams_whose_windows_stay_shut_hold_little(tmp_path: Path) -> None:
    """Many answers of a gigabyte, of which the peer takes nothing."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 30))
        while True:
            writer.write(bytes(65536))
            await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house, window=0) as person:
        numbers = [await person.ask() for _ in range(40)]
        await person.until(lambda: len(person.heads) == len(numbers))
        served = [task for task in asyncio.all_tasks() if "Connection._serve" in repr(task)]
        assert len(served) == len(numbers)
        await asyncio.sleep(0.2)
        held = [visit.outward for visit in house.gate.visits.live().values()]
        assert max(held) < 400 * 1024
