"""Bodies between two streams: their end, their cuts, and back-pressure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.core.bodies import Body, Chunked, Length, UntilClose
from gateway.entries.http.flow import Flow, Outcome
from gateway.entries.http.stream import Stream
from tests.gateway.entries.http.house import Peer
from tests.gateway.entries.http.test_passage import cut_after, reset
from tests.gateway.entries.http.test_stream import joined


@asynccontextmanager
async def pair() -> AsyncIterator[tuple[Stream, Peer, Stream, Peer]]:
    """A source and a sink, each with its raw peer."""
    async with joined() as (source, giver), joined() as (sink, taker):
        yield source, giver, sink, taker


@pytest.mark.parametrize(
    ("body", "sent", "passed", "left"),
    [
        (lambda: Length(3), "abcdef", b"abc", b"def"),
        (lambda: Length(0), "abc", b"", b"abc"),
        (Chunked, "1\na\n0\n\nnext", b"1\r\na\r\n0\r\n\r\n", b"next"),
    ],
)
async def test_a_body_ends_where_it_ends(body: Callable[[], Body], sent: str, passed: bytes, left: bytes) -> None:
    """What follows it waits for whoever reads next."""
    async with pair() as (source, giver, sink, taker):
        await giver.send(sent)
        await source.more()
        flow = Flow(source, sink, body())
        flow.start(b"head ")
        assert await flow.wait() is Outcome.DONE
        assert await taker.exactly(5 + len(passed)) == b"head " + passed
        assert source.buffer == left
        assert source.flow is None
        assert sink.feeder is None


async def test_content_without_its_chunks() -> None:
    """For peers that know none."""
    async with pair() as (source, giver, sink, taker):
        flow = Flow(source, sink, Chunked(), unchunk=True)
        flow.start()
        await giver.send("1\na\n2\nbc\n0\n\n")
        assert await flow.wait() is Outcome.DONE
        assert await taker.exactly(3) == b"abc"


@pytest.mark.parametrize(("body", "outcome"), [(lambda: Length(9), Outcome.CUT), (UntilClose, Outcome.DONE)])
async def test_an_orderly_end(body: Callable[[], Body], outcome: Outcome) -> None:
    """Completes only a body that ends so; also when it came before the flow began."""
    async with pair() as (source, giver, sink, _):
        await giver.send("abc")
        giver.writer.write_eof()
        while not source.eof:
            await asyncio.sleep(0)
        flow = Flow(source, sink, body())
        flow.start()
        assert await flow.wait() is outcome


async def test_a_lost_source_and_a_lost_sink() -> None:
    """Either ends the flow, and those named are cut with it."""
    async with pair() as (source, giver, sink, taker):
        flow = Flow(source, sink, UntilClose(), aborts=(source, sink))
        flow.start()
        reset(giver.writer)
        assert await flow.wait() is Outcome.CUT
        await cut_after(taker)
    async with pair() as (source, giver, sink, taker):
        flow = Flow(source, sink, UntilClose(), aborts=(source, sink))
        flow.start()
        reset(taker.writer)
        assert await flow.wait() is Outcome.SINK_LOST
        await cut_after(giver)
        again = Flow(source, sink, UntilClose())
        again.start()
        assert await again.wait() is Outcome.SINK_LOST


async def test_a_malformed_body() -> None:
    """Nothing of the piece that breaks the framing passes."""
    async with pair() as (source, giver, sink, taker):
        flow = Flow(source, sink, Chunked())
        flow.start(b"head")
        await giver.send("zz\n")
        assert await flow.wait() is Outcome.MALFORMED
        sink.end()
        assert await taker.rest() == b"head"


async def test_a_stopped_flow_leaves_the_rest_in_the_buffer() -> None:
    """And the source is listened to again."""
    async with pair() as (source, giver, sink, _):
        flow = Flow(source, sink, UntilClose())
        flow.start()
        flow.stop()
        flow.stop()
        assert flow.outcome is Outcome.CUT
        await giver.send("abc")
        await source.more()
        assert source.buffer == b"abc"


async def test_a_slow_sink_stops_the_source() -> None:
    """And lets it go on."""
    async with pair() as (source, giver, sink, taker):
        flow = Flow(source, sink, Length(32 << 20))
        flow.start()
        giver.writer.write(bytes(32 << 20))
        while not sink.clogged:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert source.received < 24 << 20
        async with asyncio.timeout(20):
            await taker.reader.readexactly(32 << 20)
        assert await flow.wait() is Outcome.DONE
