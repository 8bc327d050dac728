"""The limits that an entry's owner sets: connections, requests of one visitor, and the size of a body."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from gateway.contract.routes import EntryLimits, Level
from tests.gateway.entries.http.house import Peer, open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads, get


async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """An app that reads on and never answers."""
    while await reader.read(65536):
        pass


def post(host: str, more: str) -> str:
    """A POST of an open entry."""
    return f"POST / HTTP/1.1\nHost: {host}\n{more}\n"


async def problem(peer: Peer) -> tuple[int, str, bytes]:
    """Status, code and head of a refusal."""
    status, head, body = await peer.response()
    return status, json.loads(body)["code"], head


async def test_one_connection_more_than_the_owner_allows_is_refused(tmp_path: Path) -> None:
    """The others go on; when one of them ends there is room again; the owner's own count too."""
    limits = {"limits": EntryLimits(connections=2)}
    async with open_house(tmp_path, echo_heads, level=Level.OPEN, entry=limits) as house:
        async with visit(house) as one, visit(house) as two, visit(house) as three:
            for peer in (one, two):
                await peer.send(get(house))
                assert (await peer.response())[0] == 200
            await three.send(get(house))
            assert (await problem(three))[:2] == (503, "gateway_busy")
            await one.send(get(house))
            assert (await one.response())[0] == 200
        async with asyncio.timeout(10):
            await house.gate.visits.wait_none()
        async with visit(house) as four:
            await four.send(get(house))
            assert (await four.response())[0] == 200


async def test_connections_at_other_processes_count(tmp_path: Path) -> None:
    """A limit is one limit, however many processes serve the entry."""
    limits = {"limits": EntryLimits(connections=2)}
    async with open_house(tmp_path, echo_heads, level=Level.OPEN, entry=limits) as house, visit(house) as peer:
        house.gate.tally.held_elsewhere = lambda _: 2  # type: ignore[method-assign]
        await peer.send(get(house))
        assert (await problem(peer))[:2] == (503, "gateway_busy")


async def test_a_visitor_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    """Each visitor has the whole limit; the connection stays good."""
    limits = {"limits": EntryLimits(requests_per_minute=3)}
    async with open_house(tmp_path, echo_heads, level=Level.OPEN, entry=limits) as house, visit(house) as peer:
        for _ in range(3):
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
        await peer.send(get(house))
        status, code, head = await problem(peer)
        assert (status, code) == (429, "too_many_requests")
        assert b"\r\nRetry-After: " in head
        await peer.send(get(house, more=f"Cookie: {house.ticket()}\n"))
        assert (await peer.response())[0] == 200


async def test_a_body_that_says_it_is_too_long_is_refused_before_it_comes(tmp_path: Path) -> None:
    """100 Continue is not said, and the app hears nothing."""
    limits = {"limits": EntryLimits(body_bytes=10)}
    async with open_house(tmp_path, echo_heads, level=Level.OPEN, entry=limits) as house:
        async with visit(house) as peer:
            await peer.send(post(house.host, "Content-Length: 11\nExpect: 100-continue\n"))
            assert (await problem(peer))[:2] == (413, "body_too_large")
        assert not house.calls
        async with visit(house) as peer:
            await peer.send(post(house.host, "Content-Length: 10\n") + "0123456789")
            assert (await peer.response())[0] == 200


async def test_a_chunked_body_is_stopped_where_it_becomes_too_long(tmp_path: Path) -> None:
    """What the app got so far is cut off, and the visitor is told."""
    limits = {"limits": EntryLimits(body_bytes=10)}
    async with open_house(tmp_path, swallow, level=Level.OPEN, entry=limits) as house, visit(house) as peer:
        await peer.send(post(house.host, "Transfer-Encoding: chunked\n") + "6\n012345\n")
        await asyncio.sleep(0)
        await peer.send("5\n01234\n")
        assert (await problem(peer))[:2] == (413, "body_too_large")
