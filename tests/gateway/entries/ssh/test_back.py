"""Listeners of the job whose connections go to the client: ssh -R, -R 0, Unix sockets, -O forward and cancel."""

import asyncio
import contextlib
import re
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from gateway.contract.routes import Entry, EntryLimits
from tests.gateway.entries.ssh.world import World, lone_job, run, world


@contextlib.asynccontextmanager
async def service() -> AsyncIterator[int]:
    """A program beside the client: says hello first, then how many bytes came before the end."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(b"hello\n")
            writer.write(b"%d\n" % len(await reader.read()))
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@contextlib.asynccontextmanager
async def background(made: World, *flags: str) -> AsyncIterator[Process]:
    """`ssh -N` with these flags."""
    options = ["LogLevel=VERBOSE" if word == "LogLevel=ERROR" else word for word in made.options("alice", "-N", *flags)]
    process = await asyncio.create_subprocess_exec("ssh", *options, "alice@127.0.0.1", stderr=PIPE)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def allocated(process: Process) -> int:
    """The port that ssh says was allocated in the job."""
    assert process.stderr is not None
    async with asyncio.timeout(10):
        while line := await process.stderr.readline():
            if found := re.search(rb"Allocated port (\d+)", line):
                return int(found[1])
    raise AssertionError("ssh allocated nothing")


async def said(port: int, data: bytes = b"x" * 100_000) -> bytes:
    """All that comes back on a port of the job for data and a half-close."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    return answer


async def test_any_free_port_is_told_and_works(tmp_path: Path) -> None:
    """B43: `ssh -N -R 0:...` says which port it got; it works from the job, many times at once, half-close included."""
    async with (
        world(tmp_path, *lone_job()) as made,
        service() as local,
        background(made, "-R", f"0:127.0.0.1:{local}") as ssh,
    ):
        port = await allocated(ssh)
        assert await asyncio.gather(*(said(port) for _ in range(20))) == [b"hello\n100000\n"] * 20
        assert [visit.protocol for visit in made.visits.live().values()] == ["ssh-listen"]


async def test_each_connection_is_a_visit(tmp_path: Path) -> None:
    """Of the job's entry; where there is no room for more, the job's program sees its connection end."""
    job, entry = lone_job()
    assert isinstance(entry, Entry)
    async with (
        world(tmp_path, job, replace(entry, limits=EntryLimits(connections=4))) as made,
        service() as local,
        background(made, "-R", f"0:127.0.0.1:{local}") as ssh,
    ):
        port = await allocated(ssh)
        came = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6)]
        answers = await asyncio.gather(*(reader.readline() for reader, _ in came))
        assert sorted(answers) == [b"", b"", b"", b"hello\n", b"hello\n", b"hello\n"]
        kinds = sorted(visit.protocol for visit in made.visits.live().values())
        assert kinds == ["ssh-back", "ssh-back", "ssh-back", "ssh-listen"]
        for _, writer in came:
            writer.close()
        async with asyncio.timeout(5):
            while len(made.visits) > 1:
                await asyncio.sleep(0.01)


async def test_the_listener_ends_with_its_connection(tmp_path: Path) -> None:
    """When ssh is killed, nothing listens in the job any more, and no visit is left."""
    async with world(tmp_path, *lone_job()) as made, service() as local:
        async with background(made, "-R", f"0:127.0.0.1:{local}") as ssh:
            port = await allocated(ssh)
        async with asyncio.timeout(5):
            await made.visits.wait_none()
        with pytest.raises(ConnectionRefusedError):
            await said(port)


async def test_a_taken_port_is_refused_and_ssh_says_so(tmp_path: Path) -> None:
    """With ExitOnForwardFailure ssh ends; without, the session goes on."""
    async with world(tmp_path, *lone_job()) as made:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            flags = ("-R", f"{taken.getsockname()[1]}:127.0.0.1:9")
            done = await made.ssh("true", options=("-o", "ExitOnForwardFailure=yes", *flags))
            assert done.status == 255
            assert (await made.ssh("echo alive", options=flags)).out == b"alive\n"


async def test_forwards_come_and_go_on_a_shared_connection(tmp_path: Path) -> None:
    """B44: -O forward and cancel through a master, a cancel of what is not there included; the connection lives."""
    async with world(tmp_path, *lone_job()) as made, service() as local:
        control = str(tmp_path / "s")
        options = made.options("alice", "-S", control)
        master = await run("ssh", "-M", "-Nf", *options, "-E", "/dev/null", "alice@127.0.0.1", stdin=None)
        assert master.status == 0, master.err
        try:
            for _ in range(2):
                asked = ("-R", f"0:127.0.0.1:{local}")
                made_one = await run("ssh", "-O", "forward", *asked, *options, "alice@127.0.0.1", stdin=None)
                port = int(made_one.out)
                assert await said(port) == b"hello\n100000\n"
                again = ("-R", f"{port}:127.0.0.1:{local}")
                await run("ssh", "-O", "cancel", *asked, *options, "alice@127.0.0.1", stdin=None)
                await run("ssh", "-O", "cancel", *again, *options, "alice@127.0.0.1", stdin=None)
                assert (await made.ssh("echo alive", options=("-S", control))).out == b"alive\n"
            with pytest.raises(ConnectionRefusedError):
                await said(port)
        finally:
            await run("ssh", "-O", "exit", *options, "alice@127.0.0.1", stdin=None)


async def test_a_unix_socket_of_the_job_leads_to_the_client_and_goes_with_it(tmp_path: Path) -> None:
    """Only its owner may use it; a socket that is there already is not replaced; the file ends with the forward."""
    async with world(tmp_path, *lone_job()) as made, service() as local:
        path = made.home / "back.sock"
        async with await made.client() as client:
            listener = await client.forward_remote_path_to_port(str(path), "127.0.0.1", local)
            assert path.stat().st_mode & 0o777 == 0o600
            reader, writer = await asyncio.open_unix_connection(path)
            assert await reader.readline() == b"hello\n"
            writer.close()
            with pytest.raises(asyncssh.ChannelListenError):
                await client.forward_remote_path_to_port(str(path), "127.0.0.1", local)
            listener.close()
            await listener.wait_closed()
            async with asyncio.timeout(5):
                while path.exists():
                    await asyncio.sleep(0.01)


async def test_a_withdrawn_right_ends_the_listener_and_its_connections(tmp_path: Path) -> None:
    """The job's entry goes: what listened is gone within a second, and so is what came through it."""
    job, entry = lone_job()
    async with world(tmp_path, job, entry) as made, service() as local, await made.client() as client:
        listener = await client.forward_remote_port("", 0, "127.0.0.1", local)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.get_port())
        assert await reader.readline() == b"hello\n"
        made.drop(entry)
        async with asyncio.timeout(1):
            assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await said(listener.get_port())


async def test_a_client_that_refuses_the_channel_ends_only_that_connection(tmp_path: Path) -> None:
    """Nothing listens beside the client: the job's program sees the end, and the listener goes on."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            unused = probe.getsockname()[1]
        listener = await client.forward_remote_port("", 0, "127.0.0.1", unused)
        for _ in range(3):
            assert await said(listener.get_port(), b"") == b""


async def test_with_several_jobs_and_no_name_nothing_listens(tmp_path: Path) -> None:
    """Which job would it be? It is refused, and allowed again with a name."""
    async with world(tmp_path, *lone_job(), *lone_job("vim-2", number=2)) as made:
        async with await made.client() as client:
            with pytest.raises(asyncssh.ChannelListenError):
                await client.forward_remote_port("", 0, "127.0.0.1", 9)
        async with await made.client("alice+vim-2") as client:
            assert (await client.forward_remote_port("", 0, "127.0.0.1", 9)).get_port() > 0
