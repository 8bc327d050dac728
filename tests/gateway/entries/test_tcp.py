"""Plain tcp entries at the client's socket: who speaks first, half-closes, refusals, cuts; on both loops."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gateway.contract.bridge import Fault
from gateway.contract.routes import Entry, JobPhase, Level, PortKind, Protocol
from gateway.core.refusals import Code
from gateway.entries import tcp
from gateway.wire.gate import Gate
from tests.gateway import gates, world
from tests.gateway.loops import Runner, both_loops
from tests.gateway.wire.bridges import Lend, bridge, connects_to, refuses

App = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Door:
    """A served tcp entry: its gate, its port, the task that serves it."""

    gate: Gate
    port: int
    serving: asyncio.Task[None]

    async def enter(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A person's connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)


def entry(port: int, level: Level = Level.OPEN) -> Entry:
    """A tcp entry on a random port."""
    return world.entry(protocol=Protocol.TCP, level=level, port_kind=PortKind.RANDOM, port=port)


@asynccontextmanager
async def door(
    run_dir: Path,
    app: App,
    *,
    level: Level = Level.OPEN,
    phase: JobPhase = JobPhase.RUNNING,
    drain_s: float = 1.0,
    visits_limit: int = 100,
    lend: Lend | None = None,
) -> AsyncIterator[Door]:
    """An app behind a bridge behind a served entry."""
    server = await asyncio.start_server(_closing(app), "127.0.0.1", 0)
    inner = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(20), asyncio.TaskGroup() as group, server:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            port = listener.getsockname()[1]
            table = world.table(world.job(phase=phase), entry(port, level))
            gate = gates.gate(run_dir, table, drain_s=drain_s, dial_s=5.0, visits_limit=visits_limit)
            async with bridge(run_dir, lend or connects_to(inner)):
                serving = group.create_task(tcp.serve(gate, listener, port=port))
                yield Door(gate, port, serving)
                serving.cancel()
                await asyncio.wait([serving])


def _closing(app: App) -> App:
    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):  # the test cut it
            await app(reader, writer)
        writer.close()

    return run


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends back what comes."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks first, as mail and database servers do."""
    writer.write(b"220 ready\r\n")
    await writer.drain()
    await reader.read()


async def reply_after_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers only once the other side has ended."""
    data = await reader.read()
    writer.write(data[::-1])
    writer.write_eof()


@both_loops
def test_bytes_reach_the_app_and_return(run: Runner, tmp_path: Path) -> None:
    """A stranger at an open entry talks to the app."""

    async def body() -> None:
        async with door(tmp_path, echo) as open_door:
            reader, writer = await open_door.enter()
            writer.write(b"ping")
            assert await reader.readexactly(4) == b"ping"
            writer.close()

    run(body())


@both_loops
def test_the_server_may_speak_first(run: Runner, tmp_path: Path) -> None:
    """Nothing waits for the person's first byte."""

    async def body() -> None:
        async with door(tmp_path, greet) as open_door:
            reader, writer = await open_door.enter()
            assert await reader.readline() == b"220 ready\r\n"
            writer.close()

    run(body())


@both_loops
def test_a_half_close_still_gets_its_reply(run: Runner, tmp_path: Path) -> None:
    """`printf x | nc -N`: the end goes through, and the reply comes back after it."""

    async def body() -> None:
        async with door(tmp_path, reply_after_the_end) as open_door:
            reader, writer = await open_door.enter()
            writer.write(b"abc")
            writer.write_eof()
            assert await reader.read() == b"cba"
            writer.close()

    run(body())


@both_loops
def test_a_withdrawn_level_cuts_at_once(run: Runner, tmp_path: Path) -> None:
    """The level is raised: within the second the person's socket is reset, not ended in order."""

    async def body() -> None:
        async with door(tmp_path, echo) as open_door:
            reader, writer = await open_door.enter()
            writer.write(b"ping")
            assert await reader.readexactly(4) == b"ping"
            started = asyncio.get_running_loop().time()
            open_door.gate.visits.withdraw({"entry:17:open"})
            with pytest.raises(ConnectionResetError):
                await reader.read()
            assert asyncio.get_running_loop().time() - started < 1.0
            writer.close()
            await open_door.gate.visits.wait_none()

    run(body())


@pytest.mark.parametrize("level", [Level.PRIVATE, Level.LOGIN])
async def test_a_plain_port_admits_nobody_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, level: Level
) -> None:
    """Private and login need TLS: the connection is closed, and the journal says why."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path, greet, level=level) as closed_door:
        reader, writer = await closed_door.enter()
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
    assert f"refused={Code.NEEDS_TLS} entry=17 job=jupyter-17 protocol=tcp from=127.0.0.1" in caplog.messages


async def test_an_ended_job_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The entry's record is there still, its job is not."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path, greet, phase=JobPhase.ENDED) as closed_door:
        reader, writer = await closed_door.enter()
        assert await reader.read() == b""
        writer.close()
    assert any(line.startswith("refused=job_ended") for line in caplog.messages)


async def test_a_port_whose_entry_went_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Between the entry's end and the listener's, somebody may still come."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path, greet) as closed_door:
        http = replace(entry(closed_door.port), protocol=Protocol.HTTP)
        for records in ([], [http]):
            closed_door.gate.table.replace(records, 2)
            reader, writer = await closed_door.enter()
            assert await reader.read() == b""
            writer.close()
    assert [line.partition(" ")[0] for line in caplog.messages] == ["refused=unknown_host"] * 2


async def test_a_full_gateway_refuses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The number of visits is bounded."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path, greet, visits_limit=0) as full_door:
        reader, writer = await full_door.enter()
        assert await reader.read() == b""
        writer.close()
    assert any(line.startswith("refused=gateway_busy") for line in caplog.messages)


async def test_an_app_that_does_not_listen_is_a_reset(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The bridge finds nobody at the job's port: the person learns by a reset, the journal says why."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path, greet, lend=refuses(Fault.NOT_LISTENING)) as open_door:
        reader, writer = await open_door.enter()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
    assert any(line.endswith("end=not_listening") for line in caplog.messages)


async def test_a_crash_in_one_visit_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault that nobody foresaw resets its own visit and is logged; visits before and after go on."""
    async with door(tmp_path, echo) as open_door:
        reader, writer = await open_door.enter()
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        with monkeypatch.context() as broken:
            broken.setattr(tcp, "relay", None)
            unlucky, end = await open_door.enter()
            with pytest.raises(ConnectionResetError):
                await unlucky.read()
            end.close()
        for stream in ((reader, writer), await open_door.enter()):
            stream[1].write(b"pong")
            assert await stream[0].readexactly(4) == b"pong"
            stream[1].close()
    assert "a visit failed" in caplog.text


async def test_a_drain_lets_visits_go_on_for_a_while(tmp_path: Path) -> None:
    """Told to end, the entry accepts no more; an open visit goes on until it ends itself."""
    async with door(tmp_path, echo, drain_s=10) as open_door:
        reader, writer = await open_door.enter()
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        open_door.serving.cancel()
        await asyncio.sleep(0)
        _, waiting = await open_door.enter()  # held in the backlog for this process's successor
        writer.write(b"still here")
        assert await reader.readexactly(10) == b"still here"
        writer.close()
        await asyncio.wait([open_door.serving])
        waiting.close()


async def test_a_drain_ends_at_its_deadline(tmp_path: Path) -> None:
    """A visit that never ends is reset when the time is over."""
    async with door(tmp_path, echo, drain_s=0.1) as open_door:
        reader, writer = await open_door.enter()
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        open_door.serving.cancel()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_without_descriptors_clients_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepting fails for want of descriptors: it is tried again, and nobody is lost."""
    loop, fails = asyncio.get_running_loop(), iter([errno.EMFILE, errno.ECONNABORTED])
    accept = loop.sock_accept

    async def scarce(sock: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
        number = next(fails, None)
        if number is not None:
            raise OSError(number, os.strerror(number))
        return await accept(sock)

    monkeypatch.setattr(loop, "sock_accept", scarce)
    async with door(tmp_path, greet) as open_door:
        reader, writer = await open_door.enter()
        assert await reader.readline() == b"220 ready\r\n"
        writer.close()
