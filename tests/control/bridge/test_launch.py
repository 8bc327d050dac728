"""Starting, finding again and forgetting real jobs, with a bridge that is killed in between."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from gateway.contract.bridge import Fault, Verb
from tests.control.bridge.running import Bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_starting_twice_starts_once(bridge: Bridge) -> None:
    """The second call gets the first one's handle, and nothing of its own spec counts."""
    first = await bridge.submit("twice-1", ["sleep", "1000"])
    second = await bridge.submit("twice-1", ["false"])
    assert first.result["handle"] == second.result["handle"]
    assert first.result["handle"]["shim_pid"] == bridge.shim_pid("twice-1")
    await bridge.running("twice-1")


async def test_two_starts_at_once_start_once(bridge: Bridge) -> None:
    """Control may ask again before it has heard."""
    command = ["sh", "-c", "echo once; sleep 1000"]
    replies = await asyncio.gather(*(bridge.submit("race-1", command) for _ in range(5)))
    assert len({reply.result["handle"]["shim_pid"] for reply in replies}) == 1
    await bridge.running("race-1")


async def test_a_bridge_killed_at_any_moment_finds_every_job_again(bridge: Bridge) -> None:
    """Running, ended while it was away, lost while it was away: each in its true state."""
    await bridge.submit("stays-1", ["sleep", "1000"])
    await bridge.submit("ends-1", ["sh", "-c", "sleep 0.5; exit 5"])
    await bridge.submit("dies-1", ["sleep", "1000"])
    for job in ("stays-1", "dies-1"):
        await bridge.running(job)
    shim = bridge.shim_pid("dies-1")
    bridge.kill()
    os.kill(shim, signal.SIGKILL)
    await bridge.start()
    assert (await bridge.state("stays-1"))["state"] == "running"
    assert (await bridge.state("dies-1"))["state"] == "lost"
    assert (await bridge.ended("ends-1"))["exit_code"] == 5
    assert (await bridge.run("stays-1", "echo there"))[0] == b"there\n"


async def test_a_start_that_was_cut_short_is_gone_on_with(bridge: Bridge) -> None:
    """spec.json says that it shall run; a bridge that was killed before it started the shim has a successor."""
    await bridge.submit("model-1", ["sh", "-c", "echo went on"])
    await bridge.ended("model-1")
    jobs = bridge.data_dir / "bridge/jobs"
    bridge.kill()
    spec = json.loads((jobs / "model-1/spec.json").read_bytes())
    (jobs / "cut-1").mkdir(mode=0o700)
    (jobs / "cut-1/spec.json").write_text(json.dumps(spec | {"job": "cut-1"}))
    if bridge.uid is not None:
        os.chown(jobs / "cut-1", bridge.uid, bridge.uid)
    await bridge.start()
    assert (await bridge.ended("cut-1"))["exit_code"] == 0
    assert await bridge.log("cut-1") == b"went on\n"


async def test_an_ended_job_can_be_forgotten_a_running_one_not(bridge: Bridge) -> None:
    """Its record and log go; its work directory is the person's and stays."""
    await bridge.submit("gone-1", ["sh", "-c", "echo kept > file; sleep 1000"])
    await bridge.running("gone-1")
    assert (await bridge.ask(Verb.FORGET, "gone-1"))[0].fault is Fault.FAILED
    await bridge.ask(Verb.STOP, "gone-1", grace_s=5)
    await bridge.ended("gone-1")
    async with asyncio.timeout(10):
        while (await bridge.ask(Verb.FORGET, "gone-1"))[0].fault is not None:
            await asyncio.sleep(0.05)
    assert (await bridge.state("gone-1"))["state"] == "absent"
    assert (bridge.data_dir / "homes/user1/jobs/gone-1/file").read_text() == "kept\n"
    assert (await bridge.ask(Verb.FORGET, "gone-1"))[0].fault is None


async def test_stopping_what_never_was_is_done(bridge: Bridge) -> None:
    """`stop` works from any handle."""
    assert (await bridge.ask(Verb.STOP, "never-1", grace_s=1))[0].fault is None


@pytest.mark.parametrize(
    "change",
    [
        {"command": []},
        {"command": "true"},
        {"command": ["a\0b"]},
        {"env": {"A=B": "x"}},
        {"env": {"A": "x\0y"}},
        {"readonly": ["/etc"]},
        {"readonly": ["{apps}/../bridge"]},
        {"home": "/etc"},
        {"work_dir": "/etc"},
        {"owner": "alice"},
    ],
)
async def test_a_spec_that_makes_no_sense_starts_nothing(bridge: Bridge, change: dict[str, Any]) -> None:
    """A bad request, and no directory of it."""
    apps = str(bridge.data_dir / "apps")
    full = {
        name: [word.replace("{apps}", apps) for word in v] if name == "readonly" else v for name, v in change.items()
    }
    command = full.pop("command", ["true"])
    reply = await bridge.submit("wrong-1", command, **full)
    assert reply.fault in (Fault.BAD_REQUEST, Fault.FAILED)
    assert not (bridge.data_dir / "bridge/jobs/wrong-1/spec.json").exists()


async def test_jobs_get_what_people_expect(bridge: Bridge) -> None:
    """Name, home, shell, host name, a work directory of their own, and the environment asked for."""
    script = "echo $USER $HOME $SHELL $EXTRA; whoami; hostname; pwd; umask; cat /proc/self/limits | grep -c core"
    await bridge.submit("person-1", ["sh", "-c", script], env={"EXTRA": "more"})
    assert (await bridge.ended("person-1"))["exit_code"] == 0
    home = bridge.data_dir / "homes/user1"
    lines = (await bridge.log("person-1")).decode().splitlines()
    assert lines[0] == f"user1 {home} /bin/bash more"
    assert lines[1:4] == ["user1", "person-1", str(home / "jobs/person-1")]
    assert (home.stat().st_mode & 0o777, Path(home, "jobs/person-1").stat().st_mode & 0o777) == (0o700, 0o700)


async def test_probing_leaves_out_what_is_not_known(bridge: Bridge) -> None:
    """Up to 20 at once, each answered for itself."""
    await bridge.submit("probe-1", ["true"])
    await bridge.ended("probe-1")
    reply, _ = await bridge.ask(Verb.PROBE, "local", jobs=["probe-1", *(f"none-{number}" for number in range(30))])
    assert reply.result["jobs"].keys() == {"probe-1"}
