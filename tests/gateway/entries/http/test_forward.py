"""Which upstream connection carries a request."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from gateway.entries.http import pool
from tests.gateway import world
from tests.gateway.entries.http.house import open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads, get


async def test_visitors_do_not_share_a_connection(tmp_path: Path) -> None:
    """Not even on one connection of their own: an app may tie what it knows of its peer to it."""
    async with open_house(tmp_path, echo_heads, world.grant()) as house, visit(house) as peer:
        for ticket in (house.ticket(), house.ticket(), house.ticket("s2", 2), house.ticket()):
            await peer.send(get(house, more=f"Cookie: {ticket}\n"))
            assert (await peer.response())[0] == 200
        assert len(house.calls) == 3


async def test_a_rested_connection_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dropped by the sweep, or passed over."""
    monkeypatch.setattr(pool, "KEPT_S", 0.05)
    ended = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        try:
            await echo_heads(reader, writer)
        finally:
            ended.set()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        await peer.response()
        async with asyncio.timeout(5):
            await ended.wait()
        await peer.send(get(house))
        assert (await peer.response())[0] == 200
        assert len(house.calls) == 2


@pytest.mark.parametrize("more", ["Connection: close\n", ""])
async def test_an_app_that_closes_is_dialled_anew(tmp_path: Path, more: str) -> None:
    """Whether it says so or just does."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            f"HTTP/1.1 200 OK\r\n{more.replace(chr(10), chr(13) + chr(10))}Content-Length: 2\r\n\r\nok".encode()
        )

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        for _ in range(3):
            await peer.send(get(house))
            assert (await peer.response())[2] == b"ok"
        assert len(house.calls) == 3


async def test_two_entries_on_one_connection(tmp_path: Path) -> None:
    """Each request goes to its own entry's target, and each has its visit."""
    other = world.entry(18, level=Level.OPEN, target_port=9000)
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        house.change(world.entry(18, level=Level.OPEN, target_port=9000, port=house.port))
        for host in (house.entry.host, other.host, house.entry.host):
            await peer.send(f"GET / HTTP/1.1\nHost: {host}\n\n")
            assert (await peer.response())[0] == 200
            assert len(house.gate.visits) == 1
        assert [call.args["port"] for call in house.calls] == [8000, 9000, 8000]
