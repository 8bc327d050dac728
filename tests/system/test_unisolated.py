"""Jobs on a machine that allows no sandbox: nothing is promised that is not kept, and nothing runs unowned.

Such a machine is made by hiding bubblewrap from a bridge, as root and as a normal user.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gateway.contract.bridge import Fault, Verb
from tests.control.bridge.running import ORDINARY_UID, Bridge, running_bridge

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root hides a program from another process"),
]
HIDDEN = 'mount --bind /bin/false /usr/bin/bwrap && exec {} "$@"'
AS_A_USER = f"setpriv --reuid {ORDINARY_UID} --regid {ORDINARY_UID} --clear-groups"
STARTERS = {"root": (None, "env"), "normal-user": (ORDINARY_UID, AS_A_USER)}
STRAYS = "setsid sleep 1002 & sleep 1002 & echo up; exec sleep 1002"


@pytest_asyncio.fixture(params=list(STARTERS), scope="module", loop_scope="module")
async def bare(request: pytest.FixtureRequest) -> AsyncIterator[Bridge]:
    """A bridge that finds no working bubblewrap."""
    uid, become = STARTERS[request.param]
    async with running_bridge(uid, ("unshare", "-m", "sh", "-c", HIDDEN.format(become), "sh")) as bridge:
        yield bridge


def living(bridge: Bridge, job: str) -> list[int]:
    """Processes that bear the job's mark in their environment."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - a process may end while it is read
                if f"MARK={bridge.data_dir}-{job}".encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


async def submit(bridge: Bridge, job: str, script: str) -> None:
    """A job whose processes bear a mark."""
    await bridge.submit(job, ["sh", "-c", script], env={"MARK": f"{bridge.data_dir}-{job}"})


async def gone(bridge: Bridge, job: str) -> None:
    """Waits until no marked process is left."""
    async with asyncio.timeout(20):
        while living(bridge, job):
            await asyncio.sleep(0.02)


async def test_it_is_reported_and_why(bare: Bridge) -> None:
    """Control then admits only admins' jobs."""
    reply, _ = await bare.ask(Verb.CAPABILITIES, "local")
    assert (reply.result["isolation"], reply.result["network"]) == ("none", "none")
    assert "isolation" in reply.result["why"]


async def test_no_job_is_root_even_so(bare: Bridge) -> None:
    """An own uid, no capability, none to be gained."""
    await submit(bare, "who-1", "id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status")
    assert (await bare.ended("who-1"))["exit_code"] == 0
    uid, *rights = (await bare.log("who-1")).decode().split()
    assert int(uid) >= 1000
    assert rights == ["CapEff:", "0" * 16, "NoNewPrivs:", "1"]


async def test_every_process_ends_with_the_command(bare: Bridge) -> None:
    """Those that left the session as well: they are adopted, and swept up."""
    await submit(bare, "end-1", "setsid sleep 1002 & sleep 1002 & exit 6")
    assert (await bare.ended("end-1"))["exit_code"] == 6
    await gone(bare, "end-1")


async def test_stop_reaches_every_process(bare: Bridge) -> None:
    """Without a pid namespace they are found by their descent."""
    await submit(bare, "stop-1", STRAYS)
    await bare.running("stop-1")
    await bare.ask(Verb.STOP, "stop-1", grace_s=5)
    assert (await bare.ended("stop-1"))["cause"] == "stopped"
    await gone(bare, "stop-1")


async def test_suspend_reaches_every_process(bare: Bridge) -> None:
    """And resume."""
    await submit(bare, "halt-1", STRAYS)
    await bare.running("halt-1")
    async with asyncio.timeout(10):
        while len(living(bare, "halt-1")) < 3:
            await asyncio.sleep(0.02)
    for name, wanted in (("STOP", {"T"}), ("CONT", {"S"})):
        await bare.ask(Verb.SIGNAL, "halt-1", signal=name)
        async with asyncio.timeout(10):
            while {_state(pid) for pid in living(bare, "halt-1")} != wanted:
                await asyncio.sleep(0.02)


async def test_a_killed_shim_takes_its_job_with_it(bare: Bridge) -> None:
    """The inner half sees the end of its socket and ends everything."""
    await submit(bare, "kill-1", STRAYS)
    await bare.running("kill-1")
    os.kill(bare.shim_pid("kill-1"), signal.SIGKILL)
    assert (await bare.ended("kill-1"))["state"] == "lost"
    await gone(bare, "kill-1")


async def test_an_entry_reaches_only_the_jobs_own_listener(bare: Bridge) -> None:
    """On a shared loopback the listener's owner is asked for before a connection is made."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    await submit(bare, "web-1", f"exec python3 -m http.server --bind 127.0.0.1 {port}")
    await submit(bare, "other-1", "sleep 1000")
    await bare.running("other-1")
    async with asyncio.timeout(20):
        while (served := await bare.ask(Verb.CONNECT, "web-1", port=port))[0].fault is not None:
            await asyncio.sleep(0.05)
    os.close(served[1][0])
    assert (await bare.ask(Verb.CONNECT, "other-1", port=port))[0].fault is Fault.NOT_LISTENING


async def test_shells_and_terminals_work(bare: Bridge) -> None:
    """On the machine's own devpts."""
    await submit(bare, "shell-1", "sleep 1000")
    await bare.running("shell-1")
    assert await bare.run("shell-1", "exit 7") == (b"", {"status": 7})
    stream = await bare.shell("shell-1", "tty; stty size", {"term": "xterm", "rows": 31, "cols": 101})
    output, fields = await stream.rest()
    assert output.splitlines()[1] == b"31 101"
    assert output.startswith(b"/dev/pts/")
    assert fields == {"status": 0}


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - as above
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"
