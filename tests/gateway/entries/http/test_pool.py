"""Upstreams for a person's next connection: who gets one, and which are good no more."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from gateway.entries import http
from gateway.entries.http import pool
from tests.gateway.entries.http.house import House, open_house, visit


async def greets(reader: Reader, writer: Writer) -> None:
    """An app that keeps its connections."""
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


async def once(house: House, bearer: str = "sl_alice", method: str = "GET") -> None:
    """One request on a connection of its own."""
    async with visit(house) as peer:
        token = f"X-Starlight-Token: {bearer}\n" if bearer else ""
        await peer.send(f"{method} / HTTP/1.1\nHost: {house.host}\nConnection: close\n{token}\n")
        assert (await peer.response())[0] == 200
        assert await peer.rest() == b""
    await asyncio.sleep(0.02)  # the gateway's own end of the connection


async def test_a_persons_next_connection_takes_what_the_last_one_left(tmp_path: Path) -> None:
    """The job is dialled once."""
    async with open_house(tmp_path, greets) as house:
        for _ in range(3):
            await once(house)
        assert len(house.calls) == 1


async def test_people_share_none(tmp_path: Path) -> None:
    """Neither two people nor two who have no name."""
    async with open_house(tmp_path, greets, level=Level.OPEN) as house:
        await once(house)
        await once(house, "sl_bob")
        await once(house, "")
        await once(house, "")
        assert len(house.calls) == 4


async def test_requests_that_may_not_be_repeated_are_dialled(tmp_path: Path) -> None:
    """An app may close an idle connection just then, and a POST could not be sent again."""
    async with open_house(tmp_path, greets) as house:
        await once(house)
        await once(house, method="POST")
        assert len(house.calls) == 2


async def test_what_rested_too_long_is_dialled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep cuts it, and nobody takes it."""
    monkeypatch.setattr(pool, "KEPT_S", 0.05)
    monkeypatch.setattr(http, "SWEEP_S", 0.02)
    async with open_house(tmp_path, greets) as house:
        await once(house)
        await asyncio.sleep(0.1)
        await once(house)
        assert len(house.calls) == 2


async def test_an_idle_upstream_that_ended_is_not_taken(tmp_path: Path) -> None:
    """The app closed it in the meantime."""

    async def says_goodbye(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await asyncio.sleep(0.01)

    async with open_house(tmp_path, says_goodbye) as house:
        await once(house)
        await once(house)
        assert len(house.calls) == 2


async def test_more_than_the_limit_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest goes first."""
    monkeypatch.setattr(pool, "LIMIT", 0)
    async with open_house(tmp_path, greets) as house:
        await once(house)
        await once(house)
        assert len(house.calls) == 2
