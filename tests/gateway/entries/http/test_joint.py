"""What follows a 101: bytes, ends, cuts and back-pressure both ways, and what is let go meanwhile."""

from __future__ import annotations

import asyncio
import gc
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.contract.routes import EntryLimits, Level
from gateway.core.http1 import RequestHead, ResponseHead
from gateway.core.refusals import Code, Refusal
from gateway.core.websocket import close_frame
from gateway.entries import http
from gateway.entries.http.admit import Doorman
from gateway.entries.http.conversation import Conversation
from gateway.entries.http.flow import Flow
from gateway.entries.http.forward import Forwarder
from gateway.entries.http.joint import HALF_CLOSED_S, Joint
from gateway.entries.http.lane import Lane
from gateway.entries.http.passage import Passage
from gateway.entries.http.stream import Stream
from gateway.entries.http.upstream import Way
from tests.gateway import world
from tests.gateway.entries.http.house import House, Peer, crlf, open_house, visit
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, cut_after, get, reset
from tests.gateway.entries.http.test_stream import joined

FRAME = b"\x82\x05hello"
SERVING = (Conversation, Doorman, Forwarder, Lane, Passage, RequestHead, ResponseHead, Way, Flow)


async def echo(reader: Reader, writer: Writer) -> None:
    """An app that takes the upgrade and says everything twice over the wire, its end too."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(crlf(SWITCH))
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def upgraded(house: House, peer: Peer) -> None:
    """The peer's connection becomes a WebSocket, as Alice's."""
    await peer.send(get(house, "/tunnel", f"Cookie: {house.ticket()}\n" + UPGRADE))
    assert (await peer.head()).startswith(b"HTTP/1.1 101 ")


@asynccontextmanager
async def pair(*, websocket: bool = True) -> AsyncIterator[tuple[Joint, asyncio.Event, Stream, Peer, Stream, Peer]]:
    """A joint that has begun, the end of both its directions, and on each side the stream with its raw peer."""
    async with joined() as (down, person), joined() as (up, app):
        one, over = Joint(down, up, b"101 ", websocket=websocket), asyncio.Event()
        one.take_over(None, 60.0, Code.TIMEOUT)
        one.start(lambda _: over.set())
        assert await person.exactly(4) == b"101 "
        try:
            yield one, over, down, person, up, app
        finally:
            one.leave()


# A whole gateway.


def kept() -> dict[str, int]:
    """How many there are of what serves a request, and of tasks that serve a connection."""
    gc.collect()
    living = Counter(type(one).__name__ for one in gc.get_objects() if type(one) in SERVING)
    tasks = [task.get_coro() for task in asyncio.all_tasks()]
    living["task"] = sum("_connection" in getattr(coroutine, "__qualname__", "") for coroutine in tasks)
    return living


async def test_what_served_a_request_is_let_go_while_its_websocket_rests(tmp_path: Path) -> None:
    """Two connections and a visit stay; no task, no head, no conversation."""
    async with open_house(tmp_path, echo) as house:
        before = kept()
        async with visit(house) as one, visit(house) as other:
            for peer in (one, other):
                await upgraded(house, peer)
            assert len(house.gate.visits) == 2
            assert kept() == before
            for peer in (one, other):
                await peer.send(FRAME)
                assert await peer.exactly(len(FRAME)) == FRAME


async def test_a_visit_and_its_connection_are_counted_to_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Bytes both ways, in one line at the end; the gauge of connections goes up and down with it."""
    caplog.set_level("INFO", logger="gateway.visit")
    async with open_house(tmp_path, echo) as house:
        async with visit(house) as peer:
            await upgraded(house, peer)
            await peer.send(FRAME * 3)
            assert await peer.exactly(21) == FRAME * 3
            assert len(house.gate.visits) == 1
            assert 'starlight_connections_open{protocol="http"} 1.0' in house.gate.metrics.text()
            peer.writer.write_eof()
            assert await peer.rest() == b""
        async with asyncio.timeout(5):
            await house.gate.visits.wait_none()
            while 'starlight_connections_open{protocol="http"} 0.0' not in house.gate.metrics.text():
                await asyncio.sleep(0.01)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "gateway.visit"]
    assert "user=1" in line
    assert line.endswith("end=ended")
    out = int(line.partition(" out=")[2].split()[0])
    assert out == len(crlf(SWITCH)) + 21
    assert int(line.partition(" in=")[2].split()[0]) > 21


async def test_a_place_is_free_again_when_its_websocket_is_cut(tmp_path: Path) -> None:
    """The owner's limit counts one that rests, and the app hears of the end."""
    ended = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        try:
            await echo(reader, writer)
        finally:
            ended.set()

    limits = {"limits": EntryLimits(connections=1)}
    async with (
        open_house(tmp_path, app, world.grant(), entry=limits) as house,
        visit(house) as bob,
        visit(house) as alice,
    ):
        await bob.send(get(house, more=f"Cookie: {house.ticket('s2', 2)}\n" + UPGRADE))
        await bob.head()
        await alice.send(get(house, more=f"Cookie: {house.ticket()}\n" + UPGRADE))
        assert (await alice.response())[0] == 503
        house.remove(world.grant())
        async with asyncio.timeout(1):
            assert await bob.rest() == close_frame(Refusal(Code.WITHDRAWN))
            await ended.wait()
        bob.writer.close()
        async with asyncio.timeout(5):
            await house.gate.visits.wait_none()
        await upgraded(house, alice)


async def test_silence_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listener's sweep looks at it as at every other connection."""
    monkeypatch.setattr(http, "SWEEP_S", 0.05)
    monkeypatch.setattr("gateway.entries.http.upstream.QUIET_S", 0.3)
    async with open_house(tmp_path, echo) as house, visit(house) as peer:
        await upgraded(house, peer)
        assert await peer.rest() == close_frame(Refusal(Code.TIMEOUT))


async def test_the_end_of_the_process_leaves_no_visit(tmp_path: Path) -> None:
    """Nor a count of open connections, whatever people do with the goodbye: one ends, one lingers, one is mid-frame."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(SWITCH) + (FRAME[:3] if b"/part" in head else b""))
        await reader.read()

    async with (
        open_house(tmp_path, app, level=Level.OPEN) as house,
        visit(house) as ends,
        visit(house) as lingers,
        visit(house) as cut,
    ):
        for peer, path in ((ends, "/"), (lingers, "/"), (cut, "/part")):
            await peer.send(get(house, path, UPGRADE))
            await peer.head()
        house.stop()
        assert await ends.rest() == close_frame(Refusal(Code.RESTARTING))
        ends.writer.close()
        assert await cut_after(cut) == FRAME[:3]
        async with asyncio.timeout(5):
            await house.gate.visits.wait_none()
        assert await lingers.rest() == close_frame(Refusal(Code.RESTARTING))
        assert 'starlight_connections_open{protocol="http"} 0.0' in house.gate.metrics.text()


# One joint.


async def test_an_end_passes_and_the_other_direction_goes_on() -> None:
    """Whichever side ends first; with the second end it is over."""
    async with pair() as (_, over, _, person, _, app):
        await person.send(b"abc")
        person.writer.write_eof()
        assert await app.rest() == b"abc"
        await app.send(b"late")
        assert await person.exactly(4) == b"late"
        assert not over.is_set()
        app.writer.write_eof()
        assert await person.rest() == b""
        await asyncio.wait_for(over.wait(), 5)
    async with pair() as (_, over, _, person, _, app):
        app.writer.write_eof()
        assert await person.rest() == b""
        await person.send(b"late")
        assert await app.exactly(4) == b"late"
        assert not over.is_set()


@pytest.mark.parametrize("whose", ["person", "app"])
async def test_a_reset_passes_as_a_reset(whose: str) -> None:
    """Also after the other side's orderly end."""
    for after_an_end in (False, True):
        async with pair() as (_, over, _, person, _, app):
            broken, other = (person, app) if whose == "person" else (app, person)
            if after_an_end:
                other.writer.write_eof()
                assert await broken.rest() == b""
            reset(broken.writer)
            await cut_after(other)
            await asyncio.wait_for(over.wait(), 5)


@pytest.mark.parametrize("whose", ["person", "app"])
async def test_who_does_not_read_stops_the_other(whose: str) -> None:
    """Little is held meanwhile, and all of it comes in the end."""
    async with pair(websocket=False) as (_, _, down, person, up, app):
        source, sink = (up, down) if whose == "person" else (down, up)
        reads, writes = (person, app) if whose == "person" else (app, person)
        size, seen = 32 << 20, -1
        writes.writer.write(bytes(size))
        while not sink.clogged or source.received != seen:
            seen = source.received
            await asyncio.sleep(0.1)
        assert seen < size // 2
        got = 0
        async with asyncio.timeout(30):
            while got < size:
                got += len(await reads.reader.read(1 << 20))
        assert source.received == size


async def test_what_waits_in_the_buffers_goes_first() -> None:
    """With the head, in one write, and follows the frames."""
    async with joined() as (down, person), joined() as (up, app):
        await app.send(FRAME[:3])
        await up.more()
        await person.send(b"early")
        await down.more()
        one = Joint(down, up, b"101 ", websocket=True)
        one.take_over(None, 60.0, Code.TIMEOUT)
        one.start(lambda _: None)
        assert await person.exactly(7) == b"101 " + FRAME[:3]
        assert await app.exactly(5) == b"early"
        one.cut(Refusal(Code.WITHDRAWN))
        assert await cut_after(person) == b""
        one.leave()


async def test_a_goodbye_is_said_once() -> None:
    """A second cut resets; without frames there is no goodbye at all."""
    async with pair() as (one, over, _, person, _, app):
        one.cut(Refusal(Code.CUT))
        await cut_after(app)
        assert await person.rest() == close_frame(Refusal(Code.CUT))
        await asyncio.wait_for(over.wait(), 5)
        one.cut(Refusal(Code.CUT))
    async with pair(websocket=False) as (one, _, _, person, _, _):
        one.cut(Refusal(Code.CUT))
        assert await cut_after(person) == b""


async def test_whoever_closed_a_tab_is_not_waited_for_long() -> None:
    """An hour's patience for one that is open both ways, a minute's for one whose person has ended."""
    now = asyncio.get_running_loop().time
    async with pair() as (one, over, down, person, _, app):
        one.take_over(None, 3600.0, Code.TIMEOUT)
        one.sweep(now() + HALF_CLOSED_S + 1)
        await person.send(FRAME)
        assert await app.exactly(len(FRAME)) == FRAME
        person.writer.write_eof()
        assert await app.rest() == b""
        assert down.eof
        assert not over.is_set()
        one.sweep(now() + HALF_CLOSED_S + 1)
        assert await person.rest() == close_frame(Refusal(Code.TIMEOUT))


async def test_it_may_begin_with_what_has_ended() -> None:
    """An end, and a loss, that came before the 101 was said."""
    for broken in (False, True):
        async with joined() as (down, person), joined() as (up, app):
            if broken:
                reset(app.writer)
            else:
                app.writer.write_eof()
            while not (up.eof or up.lost):
                await asyncio.sleep(0.01)
            one = Joint(down, up, b"101 ", websocket=True)
            one.take_over(None, 60.0, Code.TIMEOUT)
            one.start(lambda _: None)
            if broken:
                await cut_after(person)
            else:
                assert await person.rest() == b"101 "
            one.leave()
