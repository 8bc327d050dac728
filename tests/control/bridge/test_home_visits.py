"""Homes without a job, entered through a real bridge."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from control.bridge.capabilities import Capabilities
from control.bridge.home_visits import HomeVisits
from control.bridge.places import Places
from control.bridge.truth import read_status
from gateway.contract.bridge import Fault, FrameKind, Verb
from tests.control.bridge.running import JOB_UID_BASE, Bridge, Stream

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def enter(bridge: Bridge, person: int, command: str | None, **more: Any) -> Stream:
    """A shell in the home of the person with this number."""
    subject = f"home:user{person}@local"
    args = {"user_id": person, "command": command, "env": {}, "pty": None}
    reply, descriptors = await bridge.ask(Verb.SHELL, subject, **args | more)
    assert reply.fault is None, reply
    return Stream(socket.socket(fileno=descriptors[0]))


async def run(bridge: Bridge, person: int, command: str) -> tuple[bytes, dict[str, Any]]:
    """A command in that home, to its end."""
    stream = await enter(bridge, person, command)
    stream.send(FrameKind.EOF)
    return await stream.rest()


def shim(bridge: Bridge, person: int) -> int:
    """The pid of who keeps that home's sandbox."""
    status = read_status(bridge.data_dir / "bridge" / "homes" / f"user{person}")
    assert status is not None
    return int(status["shim"]["pid"])


async def test_a_home_that_was_never_used_is_made_and_entered_as_its_person(bridge: Bridge) -> None:
    """Their uid, their home, no other's; what they write stays."""
    home = bridge.data_dir / "homes" / "user7"
    out, ended = await run(bridge, 7, "pwd; id -u; hostname; whoami; echo kept > file; ls -d ../*; exit 3")
    uid = JOB_UID_BASE + 7 if os.geteuid() == 0 and bridge.uid is None else bridge.uid or os.getuid()
    assert out.decode().splitlines() == [str(home), str(uid), "home", "user7", str(Path("..", "user7"))]
    assert ended == {"status": 3}
    assert (home / "file").read_text() == "kept\n"
    assert home.stat().st_uid == uid


async def test_visitors_of_one_home_share_its_sandbox_and_jobs_are_not_seen(bridge: Bridge) -> None:
    """Two shells see each other's processes and nobody else's."""
    await bridge.submit("job-8", ["sleep", "4711"], person=8)
    await bridge.running("job-8")
    first = await enter(bridge, 8, "sleep 4712; true")
    out, _ = await run(bridge, 8, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert b"sleep 4712" in out
    assert b"4711" not in out
    first.sock.close()


async def test_the_file_server_is_there_and_ports_are_not(bridge: Bridge) -> None:
    """sftp and what a shell's visitor lends lead in; a port does not, either way."""
    reply, descriptors = await bridge.ask(Verb.SFTP, "home:user7@local", user_id=7)
    assert reply.fault is None, reply
    os.close(descriptors[0])
    reply, descriptors = await bridge.ask(Verb.LISTEN, "home:user7@local", user_id=7, agent=True)
    assert reply.fault is None, reply
    for descriptor in descriptors:
        os.close(descriptor)
    for verb, args in (
        (Verb.CONNECT, {"port": 22}),
        (Verb.REACH, {"host": "x", "port": 22}),
        (Verb.LISTEN, {"port": 0}),
        (Verb.LISTEN, {"path": "/tmp/x"}),
    ):
        reply, _ = await bridge.ask(verb, "home:user7@local", user_id=7, **args)
        assert reply.fault is Fault.UNSUPPORTED, verb


async def test_it_begins_again_when_its_keeper_was_killed(bridge: Bridge) -> None:
    """And a bridge that was killed leaves the visitors of homes alone."""
    stream = await enter(bridge, 7, "cat")
    bridge.kill()
    await bridge.start()
    stream.send(FrameKind.DATA, b"still here")
    assert await stream.until(b"still here")
    os.kill(shim(bridge, 7), signal.SIGKILL)
    assert (await stream.frame()) is None
    stream.sock.close()
    assert (await run(bridge, 7, "cat file"))[0] == b"kept\n"


async def test_many_who_come_at_once_find_one(bridge: Bridge) -> None:
    """The first begins it, the others wait for that."""
    outputs = await asyncio.gather(
        *(run(bridge, 9, "ls -di /tmp; cat /proc/1/stat | cut -d' ' -f22") for _ in range(8))
    )
    assert len({out for out, _ in outputs}) == 1


@pytest.mark.parametrize("user_id", [0, -1, 1 << 24, "x", None])
async def test_a_number_that_nobody_has_is_a_bad_request(bridge: Bridge, user_id: object) -> None:
    """No home is made for it."""
    reply, _ = await bridge.ask(Verb.SFTP, "home:user66@local", user_id=user_id)
    assert reply.fault is Fault.BAD_REQUEST
    assert not (bridge.data_dir / "homes" / "user66").exists()


async def test_without_isolation_nobody_enters(tmp_path: Path) -> None:
    """On a machine where jobs are not kept apart, homes stay closed."""
    here = Capabilities("none", "none", {}, False, {}, (), "/usr/bin/python3", None)
    reply, _ = await HomeVisits(Places(tmp_path), here, None, lambda: 0.0).ask("alice", Verb.SFTP, {"user_id": 1})
    assert reply.fault is Fault.UNSUPPORTED
