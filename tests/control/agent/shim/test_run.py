"""The shim's life as a process: detached, alone, and gone when its job is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

import control.agent
from gateway.contract.bridge import Verb
from tests.control.bridge.running import Bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")
AGENT = Path(control.agent.__file__).parent


async def test_the_shim_is_nobodys_child(bridge: Bridge) -> None:
    """An own session, no descriptor of whoever started it, and deaf to what ends a terminal's programs."""
    await bridge.submit("d-1", ["sleep", "1000"])
    await bridge.running("d-1")
    shim = bridge.shim_pid("d-1")
    assert bridge.process is not None
    assert os.getsid(shim) != os.getsid(bridge.process.pid)
    standard = {os.readlink(f"/proc/{shim}/fd/{number}") for number in (0, 1)}
    assert standard == {"/dev/null"}
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(shim, number)
    assert (await bridge.state("d-1"))["state"] == "running"


async def test_a_second_shim_for_the_same_job_gives_way(bridge: Bridge) -> None:
    """Whoever starts twice starts nothing twice."""
    await bridge.submit("d-2", ["sleep", "1000"])
    await bridge.running("d-2")
    job_dir = bridge.data_dir / "bridge/jobs/d-2"
    before = (job_dir / "status.json").read_bytes()
    second, _ = await run_shim(job_dir)
    assert second == b""
    assert (job_dir / "status.json").read_bytes() == before
    assert (await bridge.state("d-2"))["state"] == "running"


async def test_when_the_job_is_over_nothing_of_it_is_left(bridge: Bridge) -> None:
    """No process, no socket, no network namespace's name."""
    await bridge.submit("d-3", ["true"])
    await bridge.ended("d-3")
    shim = bridge.shim_pid("d-3")
    async with asyncio.timeout(10):
        while Path(f"/proc/{shim}").exists():
            await asyncio.sleep(0.02)
    await bridge.nothing_left("d-3")
    left = {path.name for path in (bridge.data_dir / "bridge/jobs/d-3").iterdir()}
    assert not left & {"shim.sock", "netns"}


async def test_a_spec_that_cannot_be_read_is_a_launch_that_failed(bridge: Bridge) -> None:
    """The shim says so in the status; it does not just vanish."""
    await bridge.submit("d-4", ["true"])
    await bridge.ended("d-4")
    job_dir = bridge.data_dir / "bridge/jobs/broken-1"
    job_dir.mkdir()
    (job_dir / "spec.json").write_text("{}")
    if bridge.uid is not None:
        os.chown(job_dir, bridge.uid, bridge.uid)
    said, _ = await run_shim(job_dir, bridge.uid)
    assert said == b"ready\n"
    ended = await bridge.ended("broken-1")
    assert (ended["cause"], ended["detail"]) == ("launch_failed", "'sandbox'")


async def test_the_agent_needs_a_known_half() -> None:
    """A wrong word is a usage error, not a stack trace."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(AGENT), "other", stderr=asyncio.subprocess.PIPE
    )
    _, errors = await program.communicate()
    assert program.returncode == 1
    assert errors.startswith(b"usage:")


async def test_a_stop_while_the_shim_launches_is_heard(bridge: Bridge) -> None:
    """The call waits in the socket's queue and is answered; the job ends as stopped."""
    await bridge.submit("d-5", ["sleep", "1000"])
    await bridge.ask(Verb.STOP, "d-5", grace_s=5)
    assert (await bridge.ended("d-5"))["cause"] == "stopped"


async def run_shim(job_dir: Path, uid: int | None = None) -> tuple[bytes, int | None]:
    """Starts a shim by hand: what it says, and the starter's exit status."""
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", str(AGENT), "shim", str(job_dir),
        stdout=asyncio.subprocess.PIPE, user=uid, group=uid,
    )  # fmt: skip
    said, _ = await asyncio.wait_for(program.communicate(), 20)
    return said, program.returncode
