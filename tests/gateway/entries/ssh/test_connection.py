"""Whole connections: withdrawal, jumps, limits, and one channel's fault that ends no other."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import asyncssh
import pytest

from gateway.contract.people import Grant, Key, User
from gateway.contract.routes import JobPhase, Level
from gateway.entries.ssh import guest, session
from tests.gateway.core.ssh_world import ALICE, BOB, job
from tests.gateway.entries.ssh.terminal import terminal
from tests.gateway.entries.ssh.test_forward import app, greet
from tests.gateway.entries.ssh.world import KEYS, World, lone_job, run, ssh_entry, world


def end_job(made: World) -> None:
    """The job ends."""
    made.put(job("jupyter-17", phase=JobPhase.ENDED))


def disable(made: World) -> None:
    """Alice's account is disabled."""
    made.put(User(1, "alice", "user", disabled=True))


def drop_key(made: World) -> None:
    """Alice removes the key that she signed in with."""
    made.drop(Key(1, 1, KEYS["alice"].get_fingerprint()))


def drop_entry(made: World) -> None:
    """The entry is removed."""
    made.drop(lone_job()[1])


@pytest.mark.parametrize("withdraw", [end_job, disable, drop_key, drop_entry])
async def test_withdrawal_cuts_within_a_second_and_says_why(tmp_path: Path, withdraw: Callable[[World], None]) -> None:
    """Law 3: with a terminal and without one, the sentence is there, the status 255, the program gone."""
    async with world(tmp_path, *lone_job()) as made, terminal(made) as person, await made.client() as client:
        await person.sees("$ ")
        process = await client.create_process("echo up; sleep 777")
        await process.stdout.readline()
        withdraw(made)
        async with asyncio.timeout(1):
            assert "访问权限已被收回" in str(await process.stderr.read())
            assert (await process.wait()).exit_status == 255
        await person.sees("访问权限已被收回", within_s=1)
        assert await person.ends(within_s=1) == 255
        assert len(made.visits) == 0


@pytest.mark.parametrize(
    ("withdraw", "said"), [(drop_key, "访问权限已被收回"), (disable, "账号已被停用"), (end_job, "没有可以进入")]
)
async def test_an_idle_connection_opens_nothing_after_a_withdrawal(
    tmp_path: Path, withdraw: Callable[[World], None], said: str
) -> None:
    """What was signed in for is decided anew for each channel."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        withdraw(made)
        done = await client.run("true")
        assert (done.exit_status, done.stdout) == (1, "")
        assert said in str(done.stderr)


@pytest.mark.parametrize("withdraw", [drop_key, disable])
async def test_an_idle_connection_ends_after_a_withdrawal(tmp_path: Path, withdraw: Callable[[World], None]) -> None:
    """Nobody who may do nothing any more holds a connection; one whose job ended may open the next job over it."""
    with mock.patch.object(guest, "STANDING_S", 0.1):
        async with world(tmp_path, *lone_job()) as made, await made.client() as client:
            end_job(made)
            assert (await client.run("true")).exit_status == 1
            withdraw(made)
            async with asyncio.timeout(10):
                await client.wait_closed()


async def test_a_cancelled_share_cuts_the_guest_and_not_the_owner(tmp_path: Path) -> None:
    """Only who rested on the grant is cut."""
    theirs = job("b-1", owner=BOB)
    grant = Grant(1, 3, ALICE.id, None)
    async with (
        world(tmp_path, theirs, ssh_entry(3, theirs), grant) as made,
        await made.client() as alice,
        await made.client("bob") as bob,
    ):
        cut = await alice.create_process("echo up; sleep 777")
        kept = await bob.create_process("echo up; read x; echo still $x")
        await cut.stdout.readline()
        await kept.stdout.readline()
        made.drop(grant)
        async with asyncio.timeout(1):
            assert (await cut.wait()).exit_status == 255
        kept.stdin.write("here\n")
        assert (await kept.wait()).stdout == "still here\n"


async def test_a_stalled_client_is_cut_as_fast(tmp_path: Path) -> None:
    """Who does not read hears no last words, but the job is rid of them within a second."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("cat /dev/zero", encoding=None)
        await process.stdout.readexactly(1)
        await asyncio.sleep(0.3)
        end_job(made)
        async with asyncio.timeout(1):
            await made.visits.wait_none()


async def test_proxyjump_reaches_a_named_job_without_a_second_sign_in(tmp_path: Path) -> None:
    """`ssh -J alice@gate alice@JOB`: shell, status and scp; the inner connection cannot become somebody else."""
    async with world(tmp_path, *lone_job(), *lone_job("vim-2", name="lab", number=2)) as made:
        proxy = ("-o", f"ProxyCommand=ssh {' '.join(made.options())} -W %h:%p alice@127.0.0.1", "-o", "Port=22")
        inner = ["ssh", *proxy, *made.options("stranger")]
        done = await run(*inner, "alice@vim-2", "echo $JOB; exit 4")
        assert (done.status, done.out) == (4, b"vim-2\n")
        assert (await run(*inner, "alice@lab", "echo $JOB")).out == b"vim-2\n"
        assert (await run(*inner, "bob@vim-2", "true")).status == 255
        done = await run(*inner, "alice@nothing", "true")
        assert (done.status, done.out) == (1, b"")
        (tmp_path / "f").write_bytes(b"x" * 1_000_000)
        done = await run("scp", *proxy, *made.options("stranger"), str(tmp_path / "f"), "alice@jupyter-17:copy")
        assert done.status == 0
        assert (made.home / "copy").stat().st_size == 1_000_000


async def test_a_jump_follows_levels(tmp_path: Path) -> None:
    """What may not be entered by name may not be jumped to."""
    private, public = job("b-1", owner=BOB), job("b-2", owner=BOB)
    entries = ssh_entry(1, private), ssh_entry(2, public, level=Level.LOGIN)
    async with world(tmp_path, private, public, *entries) as made, await made.client() as outer:
        for wanted, status in (("b-1", 1), ("b-2", 0)):
            async with await outer.connect_ssh(
                wanted, 22, username="alice", known_hosts=None, client_keys=None, config=None, agent_path=None
            ) as inner:
                assert (await inner.run("true")).exit_status == status
                with pytest.raises(asyncssh.ChannelOpenError):
                    await inner.open_connection("b-2", 22)


async def test_a_fault_in_one_channel_ends_no_other(tmp_path: Path) -> None:
    """B72: the broken channel closes, the rest of the connection goes on."""
    async with world(tmp_path, *lone_job()) as made, await made.client() as client:
        process = await client.create_process("read x; echo still $x")
        with (
            mock.patch.object(session, "job_list", side_effect=KeyError),
            mock.patch.object(session.Session, "_open", side_effect=KeyError("broken")),
        ):
            broken = await client.run("true")
            assert broken.exit_status is None
        process.stdin.write("here\n")
        assert (await process.wait()).stdout == "still here\n"


async def test_channels_of_one_connection_are_bounded(tmp_path: Path) -> None:
    """One more than the limit is refused; after one closes, another opens."""
    with mock.patch.object(guest, "CHANNELS_LIMIT", 3):
        async with world(tmp_path, *lone_job()) as made, await made.client() as client:
            open_ = [await client.create_process("read x") for _ in range(3)]
            with pytest.raises(asyncssh.ChannelOpenError) as refused:
                await client.create_process("true")
            assert refused.value.code == asyncssh.OPEN_RESOURCE_SHORTAGE
            open_[0].stdin.write_eof()
            await open_[0].wait_closed()
            assert (await client.run("echo in")).stdout == "in\n"
            for process in open_[1:]:
                process.channel.abort()


async def test_unknown_requests_are_refused_and_the_connection_lives(tmp_path: Path) -> None:
    """B44, B59: unknown subsystems, requests and cancels, an agent after the start: each gets its failure."""
    async with world(tmp_path, *lone_job()) as made, app(greet), await made.client() as client:
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.run(subsystem="netconf")
        reply = await client._make_global_request(b"cancel-tcpip-forward", b"\0\0\0\x01x", b"\0\0\0\x16")
        assert reply[0] == 82  # SSH_MSG_REQUEST_FAILURE
        process = await client.create_process("read x; echo still $x")
        channel = process.channel
        assert await channel._make_request(b"winadj@putty.projects.tartarus.org") is False
        assert await channel._make_request(b"auth-agent-req@openssh.com") is False
        channel.send_break(100)
        process.stdin.write("here\n")
        assert (await process.wait()).stdout == "still here\n"


async def test_keepalives_are_answered(tmp_path: Path) -> None:
    """B60: a client that asks every second stays connected."""
    async with world(tmp_path, *lone_job()) as made:
        options = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2")
        assert (await made.ssh("sleep 4; echo alive", options=options)).out == b"alive\n"


async def test_rekeying_loses_nothing(tmp_path: Path) -> None:
    """B61: with a new key for each megabyte, both ways."""
    blob = bytes(range(256)) * 32 * 1024
    async with world(tmp_path, *lone_job()) as made:
        assert (await made.ssh("cat", options=("-o", "RekeyLimit=1M"), stdin=blob)).out == blob


TRICKLE = "for n in 1 2 3 4 5 6 7 8; do echo $n; sleep 0.4; done"


async def test_an_idle_connection_ends_with_a_sentence_and_one_in_use_does_not(tmp_path: Path) -> None:
    """B57: silence is cut, with its reason; a slow transfer, a tunnel in use and a jump with a slow command go on."""
    async with world(tmp_path, *lone_job(), idle_s=1.5) as made, app(greet) as port, asyncio.TaskGroup() as tasks:
        silent = tasks.create_task(made.ssh("sleep 60"))
        slow = tasks.create_task(made.ssh(TRICKLE))
        async with await made.client() as tunnel, await made.client() as outer:
            inner = await asyncssh.connect(
                "jupyter-17", tunnel=outer, username="alice", known_hosts=None, config=None, client_keys=[]
            )
            behind = tasks.create_task(inner.run(TRICKLE))
            for _ in range(8):
                reader, writer = await tunnel.open_connection("localhost", port)
                assert await reader.readline() == b"hello\n"
                writer.close()
                await asyncio.sleep(0.4)
            assert (await behind).exit_status == 0
            inner.close()
        assert (await slow).out.split() == [b"%d" % number for number in range(1, 9)]
        done = await silent
        assert (done.status, "没有数据往来" in done.err) == (255, True)
        await asyncio.wait_for(made.visits.wait_none(), 5)
