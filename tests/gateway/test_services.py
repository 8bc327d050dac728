"""`python -m gateway` as a real process, both roles: it serves its listeners, and ends in order on SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from gateway.contract.calls import listen
from gateway.contract.codec import Record
from gateway.contract.routes import Entry, Level, PortKind, Protocol, Secret
from gateway.feed.served import FeedServer
from tests.gateway import world
from tests.gateway.feed.memory import MemorySource
from tests.gateway.supervisors import FakeSupervisor, free_port, supervisor
from tests.gateway.wire.bridges import bridge, connects_to

HOST_KEY = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
RANDOM: dict[str, Any] = {"port_kind": PortKind.RANDOM, "level": Level.OPEN}


@asynccontextmanager
async def around(data: Path, *records: Record) -> AsyncIterator[FakeSupervisor]:
    """A supervisor, a control with these records, and a bridge to a greeter, in a data directory."""
    run_dir = data / "run"
    run_dir.mkdir()
    source = MemorySource(world.user(), world.job(), world.SECRET, *records)
    async with (
        asyncio.timeout(40),
        await asyncio.start_server(_greet, "127.0.0.1", 0) as app,
        bridge(run_dir, connects_to(app.sockets[0].getsockname()[1])),
        supervisor(run_dir) as held,
        asyncio.TaskGroup() as group,
    ):
        with listen(str(run_dir / "feed.sock"), kind=socket.SOCK_STREAM) as listener:
            control = group.create_task(FeedServer(listener, source).run())
            yield held
            control.cancel()


async def _greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"hello from the job")
    writer.close()


@asynccontextmanager
async def process(data: Path, held: FakeSupervisor, role: str) -> AsyncIterator[None]:
    """A gateway process that is ready; at the end of the block SIGTERM ends it with status 0."""
    environment = {"STARLIGHT_DATA_DIR": str(data), "STARLIGHT_FEED_KEY": "00" * 32, "PYTHONPATH": "."}
    for name, listener in held.named.items():
        environment[f"STARLIGHT_{name.upper()}_PORT"] = str(listener.getsockname()[1])
    arguments = ["-m", "gateway", "--role", role, "--name", f"{role}-0"]
    running = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, env=environment, cwd=Path(__file__).parents[2]
    )
    try:
        await held.bell.until(lambda: running.pid in held.ready)
        yield
        running.send_signal(signal.SIGTERM)
        assert await running.wait() == 0
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()


def port_of(held: FakeSupervisor, name: str) -> int:
    """The port of a fixed listener."""
    port: int = held.named[name].getsockname()[1]
    return port


async def said(port: int, question: bytes = b"") -> bytes:
    """Everything that a port says to this question."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(question)
    answer = await reader.read()
    writer.close()
    return answer


async def test_the_web_role_serves_pages_and_plain_tcp(tmp_path: Path) -> None:
    """The fixed listeners and the random ports of http and tcp entries answer; a process then ends in order."""
    tcp, web = free_port(), free_port()
    entries: list[Entry] = [
        world.entry(17, protocol=Protocol.TCP, port=tcp, **RANDOM),
        world.entry(18, protocol=Protocol.HTTP, port=web, **RANDOM),
    ]
    async with around(tmp_path, *entries) as held:
        for name in ("console", "http", "https", "tcp"):
            held.bind(name)
        async with process(tmp_path, held, "web"):
            question = b"GET / HTTP/1.1\r\nHost: nobody.proxy.localhost\r\nConnection: close\r\n\r\n"
            assert (await said(port_of(held, "http"), question)).startswith(b"HTTP/1.1 404 ")
            assert await said(port_of(held, "tcp"), b"no ClientHello") == b""
            await held.bell.until(lambda: {tcp, web} <= held.ports.keys())
            assert await said(tcp) == b"hello from the job"
            assert (await said(web, question)).startswith(b"HTTP/1.1 ")


async def test_the_ssh_role_serves_ssh(tmp_path: Path) -> None:
    """The fixed port and the random port of an ssh entry greet as SSH servers do (RFC 4253 section 4.2)."""
    port = free_port()
    entry = world.entry(17, protocol=Protocol.SSH, port=port, port_kind=PortKind.RANDOM)
    async with around(tmp_path, entry, Secret("h", "ssh-host", 1, HOST_KEY)) as held:
        held.bind("ssh")
        async with process(tmp_path, held, "ssh"):
            await held.bell.until(lambda: port in held.ports)
            for number in (port_of(held, "ssh"), port):
                reader, writer = await asyncio.open_connection("127.0.0.1", number)
                assert (await reader.readline()).startswith(b"SSH-2.0-")
                writer.close()


@pytest.mark.parametrize("told", [{}, {"STARLIGHT_DATA_DIR": "/data", "STARLIGHT_FEED_KEY": "short"}])
async def test_settings_that_cannot_be_used_are_told(told: dict[str, str]) -> None:
    """Status 2, and a sentence for each fault."""
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway", "--role", "web", "--name", "web-0"),
        env=told,
        cwd=Path(__file__).parents[2],
        stderr=asyncio.subprocess.PIPE,
    )
    _, complaint = await running.communicate()
    assert running.returncode == 2
    assert b"STARLIGHT_" in complaint
