"""Keys of a home's authorized_keys: what they open, what they never open, and that they stop with their line."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from gateway.contract.bridge import Fault, Verb
from gateway.contract.people import Grant
from gateway.contract.routes import Level
from tests.gateway.entries.ssh.test_back import allocated, background
from tests.gateway.entries.ssh.world import BOB, KEYS, World, job, lone_job, ssh_entry, world

HOME = "home:alice@local"
LINE = KEYS["stranger"].export_public_key().decode().strip()
"""The key is in nobody's profile."""


@asynccontextmanager
async def at_home(tmp_path: Path, *records: object, options: str = "") -> AsyncIterator[World]:
    """A gateway for whose Alice the stranger's key stands in her home."""
    async with world(tmp_path, *records) as made:  # type: ignore[arg-type]  # records of all kinds
        made.bridge.keys[HOME] = f"{options} {LINE}\n".encode()
        for end in ("", ".pub"):
            (made.home / f"stranger{end}").rename(made.home / f"alice{end}")
        yield made


async def client(made: World, user: str = "alice") -> asyncssh.SSHClientConnection:
    """asyncssh with that key."""
    return await asyncssh.connect(
        "127.0.0.1", made.port, username=user, client_keys=[KEYS["stranger"]],
        known_hosts=None, config=None, agent_path=None,
    )  # fmt: skip


async def test_it_opens_the_persons_own_jobs_on_that_cluster(tmp_path: Path) -> None:
    """Straight in with one, by name, and through a jump."""
    async with at_home(tmp_path, *lone_job()) as made:
        assert (await made.ssh("echo $JOB")).out == b"jupyter-17\n"
        assert (await made.ssh("echo $JOB", user="alice+jupyter-17")).out == b"jupyter-17\n"
        async with await client(made) as outer:
            inner = await asyncssh.connect(
                "jupyter-17", tunnel=outer, username="alice", known_hosts=None, config=None, client_keys=[]
            )
            assert (await inner.run("echo $JOB")).stdout == "jupyter-17\n"
            inner.close()


async def test_it_opens_nothing_else(tmp_path: Path) -> None:
    """Not a job of another cluster, none that was shared with her or is for all, not her home; not Bob's door."""
    far = replace(job("far-1", name="far"), cluster="elsewhere")
    shared, public = job("bobs-2", owner=BOB), job("bobs-3", owner=BOB)
    entries = ssh_entry(11, far), ssh_entry(12, shared), ssh_entry(13, public, level=Level.LOGIN)
    grant = Grant(1, 12, 1, None)
    async with at_home(tmp_path, *lone_job(), far, shared, public, *entries, grant) as made:
        for wanted in ("far-1", "bobs-2", "bobs-3", "home"):
            done = await made.ssh("true", user=f"alice+{wanted}")
            assert (done.status, done.out) == (1, b""), wanted
        assert (await made.ssh("echo $JOB")).out == b"jupyter-17\n"
        for end in ("", ".pub"):
            (made.home / f"alice{end}").rename(made.home / f"bob{end}")
        assert (await made.ssh("true", user="bob")).status == 255


async def test_with_no_job_of_that_cluster_it_says_so(tmp_path: Path) -> None:
    """And not that there is no job of some name."""
    async with at_home(tmp_path) as made:
        done = await made.ssh("true")
        assert done.status == 1
        assert "没有可以进入的作业" in done.err


async def test_a_line_that_goes_cuts_within_a_second(tmp_path: Path) -> None:
    """The running command ends with a sentence, a forward's listener with it, and the connection."""
    async with (
        at_home(tmp_path, *lone_job()) as made,
        background(made, "-R", "0:127.0.0.1:9") as forward,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(made.ssh("sleep 60"))
        await allocated(forward)
        while len(made.visits) < 2:
            await asyncio.sleep(0.01)
        made.bridge.keys[HOME] = b"# gone\n"
        async with asyncio.timeout(1.5):
            await made.visits.wait_none()
        done = await running
        assert done.status == 255
        assert "已被收回" in done.err
        async with asyncio.timeout(5):
            assert await forward.wait() == 255


async def test_a_bridge_that_is_silent_cuts_nobody_and_admits_nobody(tmp_path: Path) -> None:
    """Who is in goes on; who comes has no key."""
    async with at_home(tmp_path, *lone_job()) as made, await client(made) as inside:
        assert (await inside.run("echo in")).stdout == "in\n"
        made.bridge.fault = Fault.FAILED
        await asyncio.sleep(1.2)
        with pytest.raises(asyncssh.PermissionDenied):
            await client(made)
        made.bridge.fault = None
        assert (await inside.run("echo in")).stdout == "in\n"


async def test_options_are_honoured(tmp_path: Path) -> None:
    """No pty, no forward, an own environment and a forced command that learns what was asked for."""
    options = 'restrict,environment="MINE=yes",command="echo [$SSH_ORIGINAL_COMMAND] $MINE; tty"'
    async with at_home(tmp_path, *lone_job(), options=options) as made:
        done = await made.ssh("rm -rf /", options=("-o", "LogLevel=ERROR"))
        assert done.out == b"[rm -rf /] yes\nnot a tty\n"
        async with await client(made) as inside:
            with pytest.raises(asyncssh.ChannelOpenError, match="PTY"):
                await inside.create_process("tty", term_type="xterm")
            with pytest.raises(asyncssh.ChannelOpenError, match="不允许此操作"):
                await inside.open_connection("localhost", 9)
            with pytest.raises(asyncssh.ChannelOpenError, match="不允许此操作"):
                await inside.open_connection("jupyter-17", 22)
            with pytest.raises(asyncssh.ChannelOpenError, match="不允许此操作"):
                await inside.open_unix_connection("/tmp/x")
            with pytest.raises(asyncssh.ChannelListenError):
                await inside.forward_remote_port("", 0, "localhost", 9)
            with pytest.raises(asyncssh.ChannelListenError):
                await inside.forward_remote_path("/tmp/starlight-no", "/tmp/x")


async def test_only_listed_places_are_forwarded_to(tmp_path: Path) -> None:
    """permitopen: that port and no other, no Unix socket, no jump."""
    options = 'permitopen="localhost:9",permitlisten="localhost:*"'
    async with at_home(tmp_path, *lone_job(), options=options) as made, await client(made) as inside:
        with pytest.raises(asyncssh.ChannelOpenError, match="还没有程序在监听"):
            await inside.open_connection("localhost", 9)
        for host, port in (("localhost", 10), ("jupyter-17", 22)):
            with pytest.raises(asyncssh.ChannelOpenError, match="不允许此操作"):
                await inside.open_connection(host, port)
        assert (await inside.forward_remote_port("localhost", 0, "localhost", 9)).get_port()


@pytest.mark.parametrize("options", ["cert-authority", 'tunnel="0"', 'from="10.0.0.0/8"', 'expiry-time="20200101"'])
async def test_lines_that_do_not_fit_admit_nobody(tmp_path: Path, options: str) -> None:
    """An option that is not kept is said; another address or an end in the past is as good as no key."""
    async with at_home(tmp_path, *lone_job(), options=options) as made:
        done = await made.ssh("true", options=("-o", "LogLevel=INFO"))
        assert done.status == 255
        assert ("not supported here" in done.err) == (options in {"cert-authority", 'tunnel="0"'})


async def test_many_offers_are_one_reading(tmp_path: Path) -> None:
    """However often keys are offered, the home is read about twice a second; nobody's home is read for no user."""
    async with at_home(tmp_path, *lone_job()) as made:
        await asyncio.gather(*(made.ssh("true") for _ in range(8)))
        await made.ssh("true", user="nobody", options=("-o", f"IdentityFile={made.home / 'alice'}"))
        asked = [call.subject for call in made.bridge.calls if call.verb is Verb.KEYS]
        assert set(asked) == {HOME}
        assert len(asked) < 16
