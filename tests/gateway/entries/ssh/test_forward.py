"""Forwards into the job: ssh -L, -D, -W, and what is refused."""

import asyncio
import contextlib
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncssh
import pytest
from asyncssh.packet import String, UInt32

from gateway.contract.routes import JobPhase
from gateway.entries.ssh.forward import is_loopback
from tests.gateway.core.ssh_world import job
from tests.gateway.entries.ssh.world import World, lone_job, world

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def app(serve: Serve) -> AsyncIterator[int]:
    """A program of the job that listens on a port."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@contextlib.asynccontextmanager
async def forwarded(made: World, port: int, *, user: str = "alice") -> AsyncIterator[int]:
    """`ssh -N -L`: a local port that leads to the job's."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        local = probe.getsockname()[1]
    options = made.options(user.split("+", maxsplit=1)[0], "-N", "-L", f"127.0.0.1:{local}:localhost:{port}")
    process = await asyncio.create_subprocess_exec("ssh", *options, f"{user}@127.0.0.1")
    try:
        async with asyncio.timeout(10):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", local)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)
        yield local
    finally:
        process.terminate()
        await process.wait()


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks first, then tells how many bytes came before the end."""
    writer.write(b"hello\n")
    count = len(await reader.read())
    writer.write(f"{count}\n".encode())
    await writer.drain()


async def test_a_program_that_speaks_first_and_a_half_close_come_through(tmp_path: Path) -> None:
    """B37, B38, B39: without any session, on first and later channels: all of both directions."""
    async with world(tmp_path, *lone_job()) as made, app(greet) as port, forwarded(made, port) as local:
        for _ in range(15):
            reader, writer = await asyncio.open_connection("127.0.0.1", local)
            assert await reader.readline() == b"hello\n"
            writer.write(b"x" * 100_000)
            writer.write_eof()
            assert await reader.read() == b"100000\n"
            writer.close()


async def test_each_side_learns_that_the_other_is_gone(tmp_path: Path) -> None:
    """B40: the app closes and the client ends; the client breaks off and the app's writes fail."""
    broken = asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readline() == b"close\n":
            return
        try:
            while True:
                writer.write(b"x" * 65536)
                await writer.drain()
        except ConnectionError:
            broken.set()

    async with world(tmp_path, *lone_job()) as made, app(pour) as port, forwarded(made, port) as local:
        reader, writer = await asyncio.open_connection("127.0.0.1", local)
        writer.write(b"close\n")
        async with asyncio.timeout(5):
            assert await reader.read() == b""
        writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", local)
        writer.write(b"pour\n")
        await reader.readexactly(1_000_000)
        writer.transport.abort()
        async with asyncio.timeout(5):
            await broken.wait()


async def test_refused_destinations_fail_and_the_connection_lives(tmp_path: Path) -> None:
    """B42: nothing listens, another machine, no such Unix socket: each is refused, and the next channel works."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            unused = probe.getsockname()[1]
        with pytest.raises(asyncssh.ChannelOpenError) as refused:
            await client.open_connection("localhost", unused)
        assert refused.value.code == asyncssh.OPEN_CONNECT_FAILED
        for host, port in (("example.org", 80), ("10.0.0.1", 22222), ("127.0.0.1", 70000)):
            with pytest.raises(asyncssh.ChannelOpenError):
                await client.open_connection(host, port)
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.open_unix_connection("/run/x.sock")
        assert (await client.run("echo alive")).stdout == "alive\n"


async def test_other_machines_are_reached_through_the_job(tmp_path: Path) -> None:
    """`ssh -L`, `-W` and `-D` as sshd has them; ssh's own port is a jump only where it means a job."""
    async with world(tmp_path, *lone_job()) as made, app(greet) as port:
        made.bridge.reached = {("db.example.org", 5432): port, ("host.example.org", 22): port}
        async with await made.client("alice+jupyter-17") as client:
            for host, number in made.bridge.reached:
                reader, writer = await client.open_connection(host, number)
                assert await reader.readline() == b"hello\n"
                writer.close()
            with pytest.raises(asyncssh.ChannelOpenError):
                await client.open_connection("h" * 256, 80)
            inner = await asyncssh.connect(
                "jupyter-17", tunnel=client, username="alice", known_hosts=None, config=None, client_keys=[]
            )
            assert (await inner.run("echo $JOB")).stdout == "jupyter-17\n"
            inner.close()
        assert {call.subject for call in made.bridge.calls} == {"jupyter-17"}


async def test_a_unix_socket_of_the_job_is_reached_while_a_script_runs_on_standard_input(tmp_path: Path) -> None:
    """B45: what VS Code's exec server does: `ssh -T -L PORT:/path host sh`, its script on stdin, many connections."""
    path = tmp_path / "home" / "code-1b4e28ba.sock"
    with socket.create_server(("127.0.0.1", 0)) as probe:
        local = probe.getsockname()[1]
    async with world(tmp_path, *lone_job()) as made, await asyncio.start_unix_server(_echo, path):
        options = made.options("alice", "-T", "-L", f"127.0.0.1:{local}:{path}")
        script = await asyncio.create_subprocess_exec(
            "ssh", *options, "alice@127.0.0.1", "sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert script.stdin is not None
        assert script.stdout is not None
        script.stdin.write(b"echo listeningOn=$JOB\n")
        assert await script.stdout.readline() == b"listeningOn=jupyter-17\n"
        answers = await asyncio.gather(*(_said(local, b"%d" % number) for number in range(20)))
        assert answers == [b"%d" % number for number in range(20)]
        script.stdin.write(b"printf ' '; exit 3\n")
        out, _ = await script.communicate()
        assert (out, script.returncode) == (b" ", 3)


async def test_names_that_are_not_utf8_reach_the_job_or_are_refused(tmp_path: Path) -> None:
    """A Unix socket is found by its bytes, and a host name that is no text ends no connection."""
    path = os.fsencode(tmp_path / "home") + b"/\xff\xfe.sock"
    async with (
        world(tmp_path, *lone_job()) as made,
        await asyncio.start_unix_server(_echo, os.fsdecode(path)),
        await made.client() as client,
    ):
        opened = await client.create_unix_channel()._open_forward(
            asyncssh.stream.SSHUNIXStreamSession,
            b"direct-streamlocal@openssh.com",
            *(String(path), String(b""), UInt32(0)),
        )
        assert opened is not None
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.create_tcp_channel()._open_forward(
                asyncssh.stream.SSHTCPStreamSession,
                b"direct-tcpip",
                *(String(b"\xff\xfe"), UInt32(80), String(b"\xff"), UInt32(1)),
            )
        assert (await client.run("echo alive")).stdout == "alive\n"


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.read())
    writer.close()


async def _said(port: int, word: bytes) -> bytes:
    """What comes back for a word on a local port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(word)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_forward_needs_a_job_and_the_right_to_it(tmp_path: Path) -> None:
    """Several jobs and no name, or a job that ended: refused with the sentence."""
    async with world(tmp_path, *lone_job(), *lone_job("vim-2", number=2)) as made, app(greet) as port:
        async with await made.client() as client:
            with pytest.raises(asyncssh.ChannelOpenError, match="jupyter-17"):
                await client.open_connection("localhost", port)
        async with await made.client("alice+vim-2") as client:
            reader, writer = await client.open_connection("127.0.0.1", port)
            assert await reader.readline() == b"hello\n"
            assert made.bridge.calls[-1].subject == "vim-2"
            writer.close()
            made.put(job("vim-2", phase=JobPhase.ENDED))
            with pytest.raises(asyncssh.ChannelOpenError, match="已结束"):
                await client.open_connection("127.0.0.1", port)


async def test_withdrawal_cuts_a_forward(tmp_path: Path) -> None:
    """A tunnel of a job that ended is closed at both ends within a second."""
    gone = asyncio.Event()

    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    async with world(tmp_path, *lone_job()) as made, app(wait) as port, await made.client() as client:
        reader, _ = await client.open_connection("localhost", port)
        made.put(job("jupyter-17", phase=JobPhase.ENDED))
        async with asyncio.timeout(1):
            assert await reader.read() == b""
            await gone.wait()
            await made.visits.wait_none()


async def test_vs_codes_connection_shape_works(tmp_path: Path) -> None:
    """B46: `ssh -T -D PORT host bash` with the script on its input, then many SOCKS connects beside it."""
    async with world(tmp_path, *lone_job()) as made, app(greet) as port:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            local = probe.getsockname()[1]
        process = await asyncio.create_subprocess_exec(
            "ssh", *made.options(), "-T", "-D", f"127.0.0.1:{local}", "alice@127.0.0.1", "bash",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"echo listeningOn==up==\n")
        assert await process.stdout.readline() == b"listeningOn==up==\n"
        for _ in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", local)
            writer.write(b"\x05\x01\x00" + b"\x05\x01\x00\x03\x09localhost" + port.to_bytes(2, "big"))
            await reader.readexactly(2 + 10)
            assert await reader.readline() == b"hello\n"
            writer.close()
        process.stdin.write(b"exit 3\n")
        assert await process.wait() == 3


async def test_many_short_forwards_leave_a_shell_alone(tmp_path: Path) -> None:
    """B48: the connection does not end with a forward."""
    async with world(tmp_path, *lone_job()) as made, app(greet) as port, await made.client() as client:
        shell = await client.create_process("read x; echo got $x")
        for _ in range(20):
            reader, writer = await client.open_connection("localhost", port)
            writer.write_eof()
            assert await reader.read() == b"hello\n0\n"
            writer.close()
        shell.stdin.write("it\n")
        assert (await shell.wait()).stdout == "got it\n"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[(host, True) for host in ("localhost", "LOCALHOST.", "127.0.0.1", "127.8.9.1", "::1")],
        *[(host, False) for host in ("10.0.0.1", "example.org", "", "localhost.evil.org", "0.0.0.0")],
    ],
)
def test_loopback_names_are_told_from_others(host: str, expected: bool) -> None:
    """Only the job itself may be meant."""
    assert is_loopback(host) is expected
