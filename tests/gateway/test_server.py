"""A whole gateway process between a fake control, a fake bridge and a fake supervisor, on both loops."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import now
from gateway.contract.calls import listen
from gateway.contract.codec import Record
from gateway.contract.routes import Entry, JobPhase, Level, PortKind, Protocol
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import Via, Visitor
from gateway.entries import tcp
from gateway.feed.disk import Copy, Disk
from gateway.feed.served import FeedServer
from gateway.server import Server
from gateway.serving import Serve, Services
from gateway.wire.gate import Gate
from tests.gateway import gates, world
from tests.gateway.feed.memory import MemorySource
from tests.gateway.loops import Runner, both_loops
from tests.gateway.supervisors import FakeSupervisor, free_port, supervisor
from tests.gateway.wire.bridges import bridge, connects_to

KEY = bytes(32)
BOBS_SESSION = world.session("s2", 2, expires_at=4_000_000_000.0)
GRANTED = Visitor(2, "bob", ("session:s2",), Via.SESSION)


class Plant:
    """Everything around one gateway process, and the process itself."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.source = MemorySource()
        self.supervisor: FakeSupervisor
        self.server: Server
        self.gate: Gate
        self.feed_listener: socket.socket
        self.app_port = 0

    def services(self, gate: Gate) -> Services:
        """A greeter on the fixed listener, the real tcp entry on random ports."""
        self.gate = gate
        return Services({"http": _hello}, {Protocol.TCP: lambda port: _tcp(gate, port)})

    def put(self, *records: Record) -> int:
        """Control writes records; the revision of the last."""
        return [self.source.put(record) for record in records][-1]

    def tcp_entry(self, port: int, level: Level = Level.OPEN) -> Entry:
        """An entry with a random port."""
        return world.entry(17, protocol=Protocol.TCP, port_kind=PortKind.RANDOM, port=port, level=level)

    @asynccontextmanager
    async def control(self) -> AsyncIterator[None]:
        """The control process; it is killed at the end of the block."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(FeedServer(self.feed_listener, self.source, beat_s=0.1).run())
            try:
                yield
            finally:
                serving.cancel()

    @asynccontextmanager
    async def gateway(self, **settings: Any) -> AsyncIterator[None]:
        """The gateway process; at the end of the block it is told to stop, and has."""
        self.server = Server(gates.config(self.run_dir, drain_s=2.0, dial_s=5.0, **settings), self.services)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.server.run())
            try:
                yield
            finally:
                self.server.stop(2.0)

    async def ready(self) -> None:
        """Returns once the gateway said that it serves."""
        await self.supervisor.bell.until(lambda: bool(self.supervisor.ready))


@asynccontextmanager
async def plant(run_dir: Path) -> AsyncIterator[Plant]:
    """A supervisor, an app behind a bridge, and a feed listener; control and gateway are the test's to start."""
    made = Plant(run_dir)
    async with asyncio.timeout(30), AsyncExitStack() as stack:
        app = await stack.enter_async_context(await asyncio.start_server(_echo, "127.0.0.1", 0))
        made.app_port = app.sockets[0].getsockname()[1]
        await stack.enter_async_context(bridge(run_dir, connects_to(made.app_port)))
        made.supervisor = await stack.enter_async_context(supervisor(run_dir))
        made.supervisor.bind("http")
        made.feed_listener = stack.enter_context(listen(str(run_dir / "feed.sock"), kind=socket.SOCK_STREAM))
        made.put(world.user(), world.user(2, "bob"), world.job())
        yield made


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        return
    finally:
        writer.close()


async def _hello(listener: socket.socket) -> None:
    while True:
        sock, _ = await asyncio.get_running_loop().sock_accept(listener)
        with sock:
            sock.send(b"hello")


def _tcp(gate: Gate, port: int) -> Serve:
    async def serve(listener: socket.socket) -> None:
        await tcp.serve(gate, listener, port=port)

    return serve


async def enter(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A person who talks to the app through the entry."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"ping")
    assert await reader.readexactly(4) == b"ping"
    return reader, writer


async def cut_at(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> float:
    """When the person's connection was reset, by the loop's clock."""
    with pytest.raises(ConnectionResetError):
        await reader.read()
    writer.close()
    return asyncio.get_running_loop().time()


@both_loops
def test_it_listens_only_once_it_has_a_snapshot(run: Runner, tmp_path: Path) -> None:
    """Without control and without a copy it waits; `ready` comes after the first list."""

    async def body() -> None:
        async with plant(tmp_path) as made, made.gateway():
            await asyncio.sleep(0.2)
            assert made.supervisor.asked == []
            async with made.control():
                await made.ready()
                port = made.supervisor.named["http"].getsockname()[1]
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                assert await reader.read() == b"hello"
                writer.close()
                assert made.supervisor.ready == [os.getpid()]

    run(body())


@both_loops
def test_an_entry_works_from_its_record_to_the_apps_bytes(run: Runner, tmp_path: Path) -> None:
    """Control writes the entry; its port is served, and whoever enters talks to the app."""

    async def body() -> None:
        port = free_port()
        async with plant(tmp_path) as made, made.control(), made.gateway():
            await made.ready()
            await made.source.acknowledged_by("web-0", made.put(made.tcp_entry(port)))
            await made.supervisor.bell.until(lambda: port in made.supervisor.ports)
            _, writer = await enter(port)
            writer.close()

    run(body())


@both_loops
def test_withdrawal_cuts_within_a_second_and_before_its_acknowledgement(run: Runner, tmp_path: Path) -> None:
    """Measured at the client's socket: from control's write to the reset. Others go on."""

    async def body() -> None:
        port, other = free_port(), free_port()
        async with plant(tmp_path) as made, made.control(), made.gateway():
            await made.ready()
            second = world.entry(18, protocol=Protocol.TCP, port_kind=PortKind.RANDOM, port=other, level=Level.OPEN)
            await made.source.acknowledged_by("web-0", made.put(made.tcp_entry(port), second))
            await made.supervisor.bell.until(lambda: {port, other} <= made.supervisor.ports.keys())
            visit, untouched = await enter(port), await enter(other)
            started = asyncio.get_running_loop().time()
            revision = made.put(made.tcp_entry(port, Level.LOGIN))
            assert await cut_at(*visit) - started < 1.0
            await made.source.acknowledged_by("web-0", revision)
            untouched[1].write(b"pong")
            assert await untouched[0].readexactly(4) == b"pong"
            untouched[1].close()

    run(body())


@pytest.mark.parametrize(
    ("withdrawn", "successor"),
    [
        (world.grant(), None),
        (BOBS_SESSION, None),
        (world.user(2, "bob"), world.user(2, "bob", disabled=True)),
        (world.job(), world.job(phase=JobPhase.ENDED)),
        (world.entry(), None),
    ],
    ids=["share cancelled", "session ended", "user disabled", "job ended", "entry removed"],
)
async def test_whatever_withdraws_a_ground_cuts(tmp_path: Path, withdrawn: Record, successor: Record | None) -> None:
    """Bob's visit rests on all of these; it is cut before the withdrawal is acknowledged."""
    async with plant(tmp_path) as made, made.control(), made.gateway():
        await made.ready()
        await made.source.acknowledged_by("web-0", made.put(world.entry(), BOBS_SESSION, world.grant()))
        admission = made.gate.decide(world.entry(), GRANTED)
        assert isinstance(admission, Admission)
        cuts: list[Refusal] = []
        async with made.gate.visits.open(admission, "http", "127.0.0.1", cuts.append):
            revision = made.source.put(successor) if successor else made.source.drop(withdrawn)
            await made.source.acknowledged_by("web-0", revision)
            assert [cut.code for cut in cuts] == [Code.WITHDRAWN]


async def test_what_runs_out_of_time_is_cut(tmp_path: Path) -> None:
    """A grant with an end: the visit that rests on it ends then, without a word from control."""
    async with plant(tmp_path) as made, made.control(), made.gateway():
        await made.ready()
        ends = now() + 0.3
        revision = made.put(world.entry(), BOBS_SESSION, world.grant(expires_at=ends))
        await made.source.acknowledged_by("web-0", revision)
        admission = made.gate.decide(world.entry(), GRANTED)
        assert isinstance(admission, Admission)
        cut = asyncio.Event()
        async with made.gate.visits.open(admission, "http", "127.0.0.1", lambda _: cut.set()):
            await cut.wait()
        assert ends <= now() < ends + 5.0


@both_loops
def test_visits_go_on_while_control_is_killed_and_restarted(run: Runner, tmp_path: Path) -> None:
    """Open and new visits at an open entry do not notice; what was withdrawn meanwhile cuts at control's return."""

    async def body() -> None:
        port = free_port()
        async with plant(tmp_path) as made, made.gateway():
            async with made.control():
                await made.ready()
                await made.source.acknowledged_by("web-0", made.put(made.tcp_entry(port)))
                await made.supervisor.bell.until(lambda: port in made.supervisor.ports)
                visit = await enter(port)
            visit[1].write(b"pong")
            assert await visit[0].readexactly(4) == b"pong"
            during = await enter(port)
            made.source.drop(made.tcp_entry(port))
            async with made.control():
                for person in (visit, during):
                    await cut_at(*person)

    run(body())


async def test_it_serves_from_disk_while_control_is_away(tmp_path: Path) -> None:
    """A restarted gateway takes its copy, is ready at once, and serves; control's list replaces it later."""
    port = free_port()
    async with plant(tmp_path) as made:
        copy = Copy([world.user(), world.job(), made.tcp_entry(port)], 9, now())
        await Disk(tmp_path / "web-0.feed", KEY).save(copy)
        async with made.gateway(feed_key=KEY):
            await made.ready()
            await made.supervisor.bell.until(lambda: port in made.supervisor.ports)
            visit = await enter(port)
            async with made.control():
                await cut_at(*visit)  # control knows no such entry
        loaded = Disk(tmp_path / "web-0.feed", KEY).load()
        assert loaded is not None


async def test_stopping_before_the_first_list_ends_at_once(tmp_path: Path) -> None:
    """SIGTERM while control never came: nothing to drain."""
    async with plant(tmp_path) as made, made.gateway():
        await asyncio.sleep(0.05)
    assert made.supervisor.ready == []


@both_loops
def test_the_drain_lets_visits_end_and_then_cuts_them(run: Runner, tmp_path: Path) -> None:
    """Told to stop, it accepts no more; a visit that goes on is reset when the time is over."""

    async def body() -> None:
        port = free_port()
        async with plant(tmp_path) as made, made.control(), made.gateway():
            await made.ready()
            await made.source.acknowledged_by("web-0", made.put(made.tcp_entry(port)))
            await made.supervisor.bell.until(lambda: port in made.supervisor.ports)
            visit = await enter(port)
            made.server.stop(0.3)
            started = asyncio.get_running_loop().time()
            visit[1].write(b"pong")
            assert await visit[0].readexactly(4) == b"pong"
            assert 0.2 < await cut_at(*visit) - started < 5.0

    run(body())


async def test_the_supervisors_end_begins_the_drain(tmp_path: Path) -> None:
    """The lifeline's write end was closed: the process drains and ends by itself."""
    lifeline, supervisors_end = os.pipe()
    async with plant(tmp_path) as made, made.control():
        server = Server(gates.config(tmp_path, lifeline_fd=lifeline, orphan_drain_s=0.2), made.services)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            await made.ready()
            assert not running.done()
            os.close(supervisors_end)
            await running
    os.close(lifeline)
