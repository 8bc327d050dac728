"""The client of the bridges: descriptors in, faults as refusals, patience while a bridge restarts."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from gateway.contract.bridge import Call, Fault, Reply, Verb
from gateway.contract.calls import Answer, Peer, listen, serve
from gateway.core.refusals import Code, Refusal
from gateway.wire.bridge import Bridge, DialFault, Pty
from tests.gateway import world
from tests.gateway.wire.bridges import FakeBridge, bridge, lends, refuses

ADMISSION = world.admission(world.entry())


def client(run_dir: Path) -> Bridge:
    """A client whose clock stands still."""
    return Bridge(run_dir, lambda: world.NOW)


async def test_connect_returns_the_socket_that_the_bridge_made(tmp_path: Path) -> None:
    """The call names the job, the port, the visitor and their grounds; the socket works and does not block."""
    near, far = socket.socketpair()
    async with bridge(tmp_path, lends(near.detach())) as fake:
        with far, await client(tmp_path).connect(ADMISSION, deadline_s=5) as stream:
            far.send(b"hello")
            assert stream.recv(100) == b"hello"
            assert not stream.getblocking()
    assert fake.calls == [Call(Verb.CONNECT, "jupyter-17", {"port": 8000}, "alice", ADMISSION.grounds, world.NOW + 5)]


async def test_another_port_of_the_job_can_be_asked_for(tmp_path: Path) -> None:
    """`ssh -L` goes to any port of the job that was entered."""
    near, far = socket.socketpair()
    async with bridge(tmp_path, lends(near.detach())) as fake:
        with far, await client(tmp_path).connect(ADMISSION, port=5432, deadline_s=5):
            assert fake.calls[0].args == {"port": 5432}


async def test_other_machines_are_asked_for_by_a_verb_of_their_own(tmp_path: Path) -> None:
    """A bridge or shim that does not know it refuses, and never connects somewhere else instead."""
    near, far = socket.socketpair()
    async with bridge(tmp_path, lends(near.detach())) as fake:
        with far, await client(tmp_path).reach(ADMISSION, "db.example.org", 5432, deadline_s=5):
            assert (fake.calls[0].verb, fake.calls[0].args) == (Verb.REACH, {"host": "db.example.org", "port": 5432})


async def test_listeners_come_with_what_is_to_be_known_of_them_and_a_lifeline(tmp_path: Path) -> None:
    """The first `listeners` descriptors accept; closing closes all, the lifeline too."""
    listener, (near, far) = socket.create_server(("127.0.0.1", 0)), socket.socketpair()
    port = listener.getsockname()[1]
    given = [listener.detach(), near.detach()]

    async def lend(call: Call) -> tuple[Reply, Sequence[int]]:
        return Reply({"listeners": 1, "port": port}), given

    async with bridge(tmp_path, lend) as fake:
        with await client(tmp_path).listen(ADMISSION, {"port": 0}, deadline_s=5) as listening:
            assert [sock.getsockname()[1] for sock in listening.sockets] == [listening.told["port"]]
    assert (fake.calls[0].verb, fake.calls[0].args) == (Verb.LISTEN, {"port": 0})
    assert far.recv(1) == b""
    far.close()


async def test_an_answer_without_listeners_is_none(tmp_path: Path) -> None:
    """Whatever came with it is closed."""
    near, far = socket.socketpair()
    async with bridge(tmp_path, lends(near.detach())):
        with pytest.raises(DialFault):
            await client(tmp_path).listen(ADMISSION, {"path": "/s"}, deadline_s=5)
    assert far.recv(1) == b""
    far.close()


async def test_keys_of_a_home_are_its_files_bytes_none_or_unknown(tmp_path: Path) -> None:
    """No such file is no key; a bridge that fails or lies has said nothing."""
    file = os.memfd_create("keys")
    os.write(file, b"ssh-ed25519 AAAA")
    async with bridge(tmp_path, lends(file)) as fake:
        assert await client(tmp_path).home_keys("alice", "local", deadline_s=5) == b"ssh-ed25519 AAAA"
    assert fake.calls == [Call(Verb.KEYS, "home:alice@local", expires_at=world.NOW + 5)]
    for fault, wanted in ((Fault.NOT_FOUND, b""), (Fault.FORBIDDEN, b""), (Fault.FAILED, None)):
        async with bridge(tmp_path, refuses(fault)):
            assert await client(tmp_path).home_keys("alice", "local", deadline_s=5) == wanted


async def test_shell_and_sftp_tell_what_is_wanted(tmp_path: Path) -> None:
    """Command, environment and terminal travel in the call."""
    pairs = [socket.socketpair() for _ in range(3)]
    ends = [near.detach() for near, _ in pairs]

    async def lend(call: Call) -> tuple[Reply, Sequence[int]]:
        return Reply(), [ends.pop()]

    pty = Pty("xterm", 50, 132, {53: 1})
    async with bridge(tmp_path, lend) as fake:
        mine = client(tmp_path)
        with await mine.shell(ADMISSION, command=None, env={"LANG": "C"}, pty=pty, deadline_s=5):
            pass
        with await mine.shell(ADMISSION, command="exit 7", env={}, pty=None, deadline_s=5):
            pass
        with await mine.sftp(ADMISSION, deadline_s=5):
            pass
    for _, far in pairs:
        far.close()
    terminal = {"term": "xterm", "rows": 50, "cols": 132, "modes": {"53": 1}}
    assert [(call.verb, call.args) for call in fake.calls] == [
        (Verb.SHELL, {"command": None, "env": {"LANG": "C"}, "pty": terminal}),
        (Verb.SHELL, {"command": "exit 7", "env": {}, "pty": None}),
        (Verb.SFTP, {}),
    ]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.NOT_FOUND, Code.JOB_ENDED),
        (Fault.NOT_RUNNING, Code.JOB_ENDED),
        (Fault.NOT_LISTENING, Code.NOT_LISTENING),
        (Fault.FORBIDDEN, Code.FORBIDDEN),
        (Fault.UNSUPPORTED, Code.UNSUPPORTED),
        (Fault.BAD_REQUEST, Code.BAD_REQUEST),
        (Fault.FAILED, Code.UNREACHABLE),
    ],
)
async def test_each_fault_becomes_a_refusal(tmp_path: Path, fault: Fault, code: Code) -> None:
    """The person gets a code of the closed list; the detail is for the log alone."""
    async with bridge(tmp_path, refuses(fault)):
        with pytest.raises(DialFault, match="/inner/path") as caught:
            await client(tmp_path).connect(ADMISSION, deadline_s=5)
    assert caught.value.refusal == Refusal(code, "jupyter-17", "web")


async def test_a_bridge_that_dies_during_a_call_is_asked_again(tmp_path: Path) -> None:
    """The first process ends without an answer; its successor on the same listener gives the socket."""
    near, far = socket.socketpair()
    lend = lends(near.detach())
    asked = asyncio.Event()

    async def hang(call: Call) -> tuple[Reply, Sequence[int]]:
        if len(fake.calls) == 1:
            asked.set()
            await asyncio.Event().wait()
        return await lend(call)

    fake = FakeBridge(tmp_path, hang)
    with fake.listener, far:
        async with asyncio.TaskGroup() as group:
            connecting = group.create_task(client(tmp_path).connect(ADMISSION, deadline_s=10))
            async with fake.running():
                await asked.wait()
            async with fake.running():
                with await connecting as stream:
                    far.send(b"alive")
                    assert stream.recv(100) == b"alive"
    assert len(fake.calls) == 2


async def test_a_bridge_that_stays_away_is_unreachable(tmp_path: Path) -> None:
    """Whether its socket is missing or nobody accepts on it: the deadline holds."""
    for step in ("missing", "silent"):
        if step == "silent":
            listener = listen(str(tmp_path / "bridge-local.sock"))
        with pytest.raises(DialFault) as caught:
            await client(tmp_path).connect(ADMISSION, deadline_s=0.2)
        assert caught.value.refusal.code is Code.UNREACHABLE
    listener.close()


@pytest.mark.parametrize("answer", [b"nonsense", b'{"v":9,"ok":true}'])
async def test_a_bad_answer_is_unreachable(tmp_path: Path, answer: bytes) -> None:
    """Its descriptors are closed, not leaked."""
    read_end, write_end = os.pipe()

    async def handler(message: bytes, peer: Peer) -> Answer:
        return answer, [write_end]

    async with asyncio.TaskGroup() as group:
        with listen(str(tmp_path / "bridge-local.sock")) as listener:
            serving = group.create_task(serve(listener, handler, deadline_s=5))
            with pytest.raises(DialFault, match="bad answer"):
                await client(tmp_path).connect(ADMISSION, deadline_s=5)
            serving.cancel()
            await asyncio.wait([serving])
    assert os.read(read_end, 1) == b""
    os.close(read_end)


async def test_an_answer_without_a_socket_is_unreachable(tmp_path: Path) -> None:
    """The bridge said yes and gave nothing."""
    async with bridge(tmp_path, lends()):
        with pytest.raises(DialFault, match="no socket"):
            await client(tmp_path).connect(ADMISSION, deadline_s=5)


async def test_spare_descriptors_are_closed(tmp_path: Path) -> None:
    """One stream is one socket; what else came is given back."""
    near, far = socket.socketpair()
    read_end, write_end = os.pipe()
    async with bridge(tmp_path, lends(near.detach(), write_end)):
        with far, await client(tmp_path).connect(ADMISSION, deadline_s=5):
            assert os.read(read_end, 1) == b""
    os.close(read_end)


async def test_too_large_a_call_is_refused_before_it_is_made(tmp_path: Path) -> None:
    """An environment of a hundred kilobytes does not fit a call."""
    with pytest.raises(DialFault) as caught:
        await client(tmp_path).shell(ADMISSION, command="x" * 100_000, env={}, pty=None, deadline_s=5)
    assert caught.value.refusal.code is Code.TOO_LARGE


async def test_a_target_without_a_port_cannot_be_connected(tmp_path: Path) -> None:
    """A terminal entry leads to a shell, not to a port."""
    with pytest.raises(DialFault) as caught:
        await client(tmp_path).connect(world.admission(world.entry(target_port=None)), deadline_s=5)
    assert caught.value.refusal.code is Code.UNSUPPORTED
