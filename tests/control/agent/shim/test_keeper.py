"""Real jobs from their start to their end, as root and as a normal user."""

from __future__ import annotations

import asyncio
import os
import signal
import struct

import pytest

from gateway.contract.bridge import Fault, Verb
from tests.control.bridge.running import Bridge

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("code", [0, 1, 7, 255])
async def test_the_exit_code_arrives(bridge: Bridge, code: int) -> None:
    """A command's exit code is the job's."""
    await bridge.submit(f"e-{code}", ["sh", "-c", f"exit {code}"])
    ended = await bridge.ended(f"e-{code}")
    assert (ended["cause"], ended["exit_code"], ended["signal"]) == ("exit", code, None)
    assert ended["started_at"] <= ended["ended_at"]


async def test_a_signal_is_told_from_an_exit_code(bridge: Bridge) -> None:
    """A command that dies by SIGKILL is not one that exits with 137."""
    await bridge.submit("s-1", ["sh", "-c", "kill -9 $$"])
    await bridge.submit("s-2", ["sh", "-c", "exit 137"])
    killed, exited = await bridge.ended("s-1"), await bridge.ended("s-2")
    assert (killed["cause"], killed["signal"], killed["exit_code"]) == ("signal", "SIGKILL", None)
    assert (exited["cause"], exited["signal"], exited["exit_code"]) == ("exit", None, 137)


async def test_a_command_that_is_not_there_fails_to_start(bridge: Bridge) -> None:
    """The job ends without having run, and says which word was not found."""
    await bridge.submit("n-1", ["no-such-program"])
    ended = await bridge.ended("n-1")
    assert (ended["cause"], ended["started_at"]) == ("launch_failed", None)
    assert ended["detail"] == "no-such-program: No such file or directory"
    assert ended["events"][0]["reason"] == "StartFailed"


async def test_output_and_its_times_are_kept(bridge: Bridge) -> None:
    """Both outputs land in the log in the order written, and the index says when each part came."""
    await bridge.submit("o-1", ["sh", "-c", "echo one; echo two >&2; sleep 0.3; printf '\\377\\0three'"])
    ended = await bridge.ended("o-1")
    assert await bridge.log("o-1") == b"one\ntwo\n\xff\0three"
    _, descriptors = await bridge.ask(Verb.LOG, "o-1")
    records = list(struct.iter_unpack("!dQ", os.pread(descriptors[1], 1000, 0)))
    for descriptor in descriptors:
        os.close(descriptor)
    assert [offset for _, offset in records] == [0, 8]
    assert ended["started_at"] - 1 <= records[0][0] < records[1][0] <= ended["ended_at"]


async def test_the_log_is_read_only(bridge: Bridge) -> None:
    """Whoever is handed the log cannot write it."""
    await bridge.submit("o-2", ["true"])
    await bridge.ended("o-2")
    _, descriptors = await bridge.ask(Verb.LOG, "o-2")
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(descriptor, b"x")
        os.close(descriptor)


async def test_output_over_the_limit_is_dropped_and_told(bridge: Bridge) -> None:
    """A job that prints for ever neither fills the disk nor blocks."""
    await bridge.submit("o-3", ["sh", "-c", "head -c 300000 /dev/zero"], log_limit_bytes=100_000)
    ended = await bridge.ended("o-3")
    assert len(await bridge.log("o-3")) == 100_000
    assert "LogLimit" in [event["reason"] for event in ended["events"]]
    assert ended["exit_code"] == 0


async def test_stop_asks_first(bridge: Bridge) -> None:
    """A command that listens to SIGTERM ends in its own way, within the grace."""
    await bridge.submit("t-1", ["sh", "-c", "trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done"])
    await bridge.running("t-1")
    await bridge.ask(Verb.STOP, "t-1", grace_s=20)
    ended = await bridge.ended("t-1")
    assert (ended["cause"], ended["exit_code"]) == ("stopped", 3)
    assert (await bridge.log("t-1")).endswith(b"bye\n")


async def test_stop_ends_every_process_of_a_stubborn_job(bridge: Bridge) -> None:
    """What ignores SIGTERM and left its session is ended all the same once the grace is over."""
    stubborn = (
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & while :; do sleep 0.05; done"
    )
    await bridge.submit("t-2", ["sh", "-c", stubborn])
    await bridge.running("t-2")
    await bridge.ask(Verb.STOP, "t-2", grace_s=0.2)
    ended = await bridge.ended("t-2")
    assert (ended["cause"], ended["signal"]) == ("stopped", "SIGKILL")
    await bridge.nothing_left("t-2")
    assert (await bridge.ask(Verb.STOP, "t-2", grace_s=1))[0].fault is None


async def test_stop_asked_again_with_less_patience_is_quicker(bridge: Bridge) -> None:
    """The shorter grace counts; a longer one changes nothing."""
    await bridge.submit("t-3", ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"])
    await bridge.running("t-3")
    for grace_s in (1000, 0.1, 1000):
        await bridge.ask(Verb.STOP, "t-3", grace_s=grace_s)
    assert (await bridge.ended("t-3"))["signal"] == "SIGKILL"


async def test_background_processes_end_with_the_command(bridge: Bridge) -> None:
    """The job is over when its command is; a daemon that it left does not hold it open."""
    await bridge.submit("b-1", ["sh", "-c", "setsid sleep 1000 & echo started"])
    ended = await bridge.ended("b-1")
    assert ended["exit_code"] == 0
    await bridge.nothing_left("b-1")


async def test_suspend_halts_everything_and_resume_goes_on(bridge: Bridge) -> None:
    """While suspended not one line is printed, though the printing child is not the command itself."""
    await bridge.submit("p-1", ["sh", "-c", "(while :; do echo tick; sleep 0.02; done) & wait"])
    await bridge.running("p-1")
    await bridge.ask(Verb.SIGNAL, "p-1", signal="STOP")
    suspended = await bridge.state("p-1")
    await asyncio.sleep(0.1)
    before = len(await bridge.log("p-1"))
    await asyncio.sleep(0.3)
    assert (suspended["state"], len(await bridge.log("p-1"))) == ("suspended", before)
    await bridge.ask(Verb.SIGNAL, "p-1", signal="CONT")
    assert (await bridge.state("p-1"))["state"] == "running"
    async with asyncio.timeout(10):
        while len(await bridge.log("p-1")) == before:
            await asyncio.sleep(0.02)


async def test_a_suspended_job_can_be_stopped(bridge: Bridge) -> None:
    """Being halted does not keep a job from ending politely."""
    await bridge.submit("p-2", ["sleep", "1000"])
    await bridge.running("p-2")
    await bridge.ask(Verb.SIGNAL, "p-2", signal="STOP")
    await bridge.ask(Verb.STOP, "p-2", grace_s=20)
    assert (await bridge.ended("p-2"))["signal"] == "SIGTERM"


async def test_the_time_limit_ends_the_job(bridge: Bridge) -> None:
    """A job over its time is ended, with that reason."""
    await bridge.submit("l-1", ["sleep", "1000"], time_limit_s=0.3)
    ended = await bridge.ended("l-1")
    assert (ended["cause"], ended["signal"]) == ("time_limit", "SIGTERM")
    assert "TimeLimit" in [event["reason"] for event in ended["events"]]


async def test_time_spent_suspended_does_not_count(bridge: Bridge) -> None:
    """A halted job does not run out of time."""
    await bridge.submit("l-2", ["sleep", "1000"], time_limit_s=0.6)
    await bridge.running("l-2")
    await bridge.ask(Verb.SIGNAL, "l-2", signal="STOP")
    await asyncio.sleep(1)
    assert (await bridge.state("l-2"))["state"] == "suspended"
    await bridge.ask(Verb.SIGNAL, "l-2", signal="CONT")
    assert (await bridge.ended("l-2"))["cause"] == "time_limit"


async def test_too_much_memory_ends_the_job(bridge: Bridge) -> None:
    """With a memory cgroup the kernel ends the job and that is told; without one the program itself fails."""
    hog = "x = bytearray(400 << 20); print(len(x))"
    await bridge.submit("m-1", ["/usr/bin/python3", "-c", hog], memory_bytes=100 << 20)
    ended = await bridge.ended("m-1")
    capabilities, _ = await bridge.ask(Verb.CAPABILITIES, "local")
    if capabilities.result["limits"]["memory"] == "cgroup":
        assert (ended["cause"], ended["signal"]) == ("oom", "SIGKILL")
    else:
        assert ended["exit_code"] == 1
        assert b"MemoryError" in await bridge.log("m-1")


async def test_a_job_that_forks_without_end_is_stopped_at_its_limit(bridge: Bridge) -> None:
    """By a cgroup, or where none may be made by a resource limit that an own user namespace does not lift."""
    bomb = "import os, time\nfor n in range(200):\n    if os.fork() == 0: time.sleep(100)\n"
    code = f"try:\n    exec({bomb!r})\nexcept BlockingIOError: print('stopped', flush=True)\n"
    for number, before in enumerate(([], ["unshare", "-Ur"])):
        await bridge.submit(f"f-{number}", [*before, "/usr/bin/python3", "-c", code], processes=60, person=3)
        await bridge.ended(f"f-{number}")
        assert await bridge.log(f"f-{number}") == b"stopped\n"


async def test_a_shim_killed_at_any_moment_takes_its_job_with_it(bridge: Bridge) -> None:
    """Nothing runs of which nobody knows: the job is lost, never running, and its processes are gone."""
    await bridge.submit("k-1", ["sh", "-c", "setsid sleep 1000 & exec sleep 1000"])
    await bridge.running("k-1")
    os.kill(bridge.shim_pid("k-1"), signal.SIGKILL)
    lost = await bridge.ended("k-1")
    assert (lost["state"], lost["cause"]) == ("lost", "shim_died")
    await bridge.nothing_left("k-1")


async def test_a_signal_for_a_job_that_ended_is_refused(bridge: Bridge) -> None:
    """Suspending what is over changes nothing and says so."""
    await bridge.submit("x-1", ["true"])
    await bridge.ended("x-1")
    reply, _ = await bridge.ask(Verb.SIGNAL, "x-1", signal="STOP")
    assert reply.fault is Fault.NOT_RUNNING


async def test_what_is_there_for_its_visitors_ends_after_the_last(bridge: Bridge) -> None:
    """A session holds it; when it has been left for a while, it ends with all that runs in it, and lets nobody in."""
    await bridge.submit("idle-1", ["sleep", "infinity"], idle_s=0.6)
    await bridge.running("idle-1")
    visitor = await bridge.shell("idle-1", "sleep 1.2; echo stayed")
    assert await visitor.rest() == (b"stayed\n", {"status": 0})
    assert (await bridge.ended("idle-1"))["cause"] == "stopped"
    reply, _ = await bridge.ask(Verb.SHELL, "idle-1", command="true", env={}, pty=None)
    assert reply.fault is Fault.NOT_RUNNING
