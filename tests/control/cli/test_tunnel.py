"""One local connection through a real gateway front to an app: ends, cuts and refusals arrive as such."""

from __future__ import annotations

import asyncio
import socket
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from control.cli import tunnel
from control.cli.tunnel import RefusedError, Way, carry
from control.cli.words import Words
from gateway.contract.codec import Record
from gateway.contract.routes import Entry
from tests.gateway import world
from tests.gateway.entries.http.house import BEARER, BOBS_BEARER, App, House, tidy
from tests.gateway.entries.http.test_passage import echo_heads
from tests.gateway.entries.http.test_tunnel import TCP, echo, house_of, reply_after_the_end
from tests.gateway.tls_client import client_context


class Local:
    """A local listener that carries what connects to it, and keeps what a person was told."""

    def __init__(self, house: House, entry: Entry, token: str = BEARER) -> None:
        self.told: list[str] = []
        self.port = 0
        self._way = Way("127.0.0.1", house.port, entry.host, token, client_context(), Words("en"))

    async def serve(self, reader: Reader, writer: Writer) -> None:
        """One connection."""
        try:
            await carry(self._way, reader, writer)
        except RefusedError as refused:
            self.told.append(str(refused))

    async def enter(self) -> tuple[Reader, Writer]:
        """A program's connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)


@asynccontextmanager
async def local(
    run_dir: Path, app: App, *records: Record, web: bool = False, token: str = BEARER
) -> AsyncIterator[tuple[House, Local]]:
    """An app behind a gateway behind a local port."""
    async with asyncio.timeout(20), house_of(run_dir, app, *records) as house:
        served = Local(house, house.entry if web else TCP, token)
        server = await asyncio.start_server(tidy(served.serve), "127.0.0.1", 0)
        async with server:
            served.port = server.sockets[0].getsockname()[1]
            yield house, served


async def test_an_end_goes_through_and_the_reply_comes_after_it(tmp_path: Path) -> None:
    """`printf abc | nc -N localhost PORT`."""
    async with local(tmp_path, reply_after_the_end) as (_, served):
        reader, writer = await served.enter()
        writer.write(b"abc")
        writer.write_eof()
        assert await reader.read() == b"cba"
        writer.close()
    assert served.told == []


async def test_much_comes_back_as_it_went(tmp_path: Path) -> None:
    """Four MiB, both ways at once."""
    data = bytes(range(256)) * (16 * 1024)
    async with local(tmp_path, echo) as (_, served):
        reader, writer = await served.enter()

        async def send() -> None:
            writer.write(data)
            await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as group:
            group.create_task(send())
            assert await reader.read() == data
        writer.close()


async def test_requests_pass_to_a_web_entry(tmp_path: Path) -> None:
    """A browser's keep-alive connection, request after request; the end of one side leaves time for the answer."""
    async with local(tmp_path, echo_heads, web=True) as (_, served):
        reader, writer = await served.enter()
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n")
        writer.write_eof()
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_web_connection_that_ended_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed tab does not keep the gateway's connection."""
    monkeypatch.setattr(tunnel, "LINGER_S", 0.05)
    async with local(tmp_path, echo_heads, web=True) as (_, served):
        reader, writer = await served.enter()
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()


async def test_a_refusal_is_told_and_the_program_reset(tmp_path: Path) -> None:
    """Bob has no right here: he reads why, his program gets no orderly end."""
    async with local(tmp_path, echo, token=BOBS_BEARER) as (_, served):
        reader, _ = await served.enter()
        with pytest.raises(ConnectionError):
            await reader.read()
        assert "no right" in served.told[0]


async def test_a_withdrawal_is_told_and_cuts(tmp_path: Path) -> None:
    """Within the second."""
    grant = world.grant(entry_id=18)
    async with local(tmp_path, echo, grant, token=BOBS_BEARER) as (house, served):
        reader, writer = await served.enter()
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        house.remove(grant)
        async with asyncio.timeout(1):
            with pytest.raises(ConnectionError):
                await reader.read()
        assert "withdrawn" in served.told[0]


async def test_an_app_that_breaks_is_no_orderly_end(tmp_path: Path) -> None:
    """Half an answer stays half an answer."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.read(1)
        sock = writer.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    async with local(tmp_path, app) as (_, served):
        reader, writer = await served.enter()
        writer.write(b"x")
        with pytest.raises(ConnectionError):
            await reader.read()


async def test_a_gateway_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With the address that was tried."""
    async with local(tmp_path, echo) as (house, served):
        house.stop()
        served._way = Way("127.0.0.1", 1, TCP.host, BEARER, client_context(), Words("en"))
        reader, _ = await served.enter()
        with pytest.raises(ConnectionError):
            await reader.read()
        assert served.told[0].startswith("127.0.0.1:1 cannot be reached: ")
