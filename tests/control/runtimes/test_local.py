"""The local runtime speaks the bridge's protocol, and tells silence from a no."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from control.domain.errors import Code, ProblemError
from control.domain.jobs.observed import Phase
from control.runtimes.local import LocalRuntime
from control.runtimes.runtime import Order, RefusedError
from gateway.contract import calls
from gateway.contract.bridge import Fault, Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer
from tests.control.stage import PlayedBridge

ORDER = Order(
    job="web-1",
    owner_name="alice",
    uid=70001,
    home="/homes/alice",
    work_dir="/homes/alice/jobs/web-1",
    command=("true",),
    env={"A": "1"},
    cpus=2,
    memory_bytes=None,
    time_limit_s=60,
    readonly=("/apps/lab",),
    log_limit_bytes=1000,
)


@asynccontextmanager
async def played(tmp_path: Path, handler: calls.Handler) -> AsyncIterator[LocalRuntime]:
    """A runtime whose bridge is `handler`."""
    listener = calls.listen(str(tmp_path / "bridge-local.sock"))
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(calls.serve(listener, handler, deadline_s=5))
        with listener:
            yield LocalRuntime(tmp_path, tmp_path, 70000)
            serving.cancel()
            await asyncio.wait([serving])


async def test_order_becomes_the_bridges_spec(tmp_path: Path) -> None:
    """As the bridge reads it; asked twice, started once."""
    bridge = PlayedBridge()
    async with played(tmp_path, bridge.answer) as runtime:
        for _ in range(2):
            handles = [handle async for handle in runtime.start(ORDER)]
            assert handles == [{"job": "web-1", "shim_pid": 1, "boot": "b"}]
    assert bridge.starts == 1
    spec = bridge.specs["web-1"]
    assert spec["owner"] == {"name": "alice", "uid": 70001}
    assert spec["command"] == ["true"]
    assert "owner_name" not in spec
    assert set(spec) == {
        *("job", "owner", "home", "work_dir", "command", "env", "cpus", "memory_bytes", "time_limit_s"),
        *("readonly", "log_limit_bytes"),
    }


async def test_job_is_suspended_resumed_and_stopped(tmp_path: Path) -> None:
    """Each as its probe tells afterwards; a stop may be repeated, also of what nobody knows."""
    bridge = PlayedBridge()
    async with played(tmp_path, bridge.answer) as runtime:
        handle = [handle async for handle in runtime.start(ORDER)][-1]
        await runtime.suspend(handle)
        assert (await runtime.probe(["web-1"]))["web-1"].phase is Phase.SUSPENDED
        await runtime.resume(handle)
        assert (await runtime.probe(["web-1", "none"])).keys() == {"web-1"}
        for _ in range(2):
            await runtime.stop(handle, grace_s=0.1)
        assert (await runtime.probe(["web-1"]))["web-1"].phase is Phase.ENDED
        await runtime.stop({"job": "none"}, grace_s=0.1)


async def test_refusal_carries_its_code(tmp_path: Path) -> None:
    """A no is not silence."""
    bridge = PlayedBridge()
    bridge.refuses = Fault.FORBIDDEN
    async with played(tmp_path, bridge.answer) as runtime:
        with pytest.raises(RefusedError) as caught:
            [handle async for handle in runtime.start(ORDER)]
    assert caught.value.code is Fault.FORBIDDEN


async def test_absent_bridge_is_silence(tmp_path: Path) -> None:
    """No socket, or one on which nobody answers."""
    runtime = LocalRuntime(tmp_path, tmp_path, None)
    with pytest.raises(ConnectionError):
        await runtime.probe(["web-1"])
    assert not await runtime.healthy()
    with pytest.raises(ProblemError) as caught:
        await runtime.open_log("web-1")
    assert caught.value.problem.code is Code.CLUSTER_UNHEALTHY


@pytest.mark.parametrize(
    "answer", [b"nonsense", b'{"v": 1, "ok": true, "result": {"jobs": {"web-1": {"state": "dancing"}}}}']
)
async def test_answer_that_cannot_be_read_is_silence(tmp_path: Path, answer: bytes) -> None:
    """A bridge of another version must not end jobs."""

    async def garbled(_message: bytes, _peer: Peer) -> Answer:
        return answer, ()

    async with played(tmp_path, garbled) as runtime:
        with pytest.raises(ConnectionError):
            await runtime.probe(["web-1"])


async def test_capabilities_are_told(tmp_path: Path) -> None:
    """The bridge's probe, and this machine's size."""
    async with played(tmp_path, PlayedBridge().answer) as runtime:
        found = await runtime.capabilities()
        assert await runtime.healthy()
    assert (found.kind, found.isolation, found.sftp) == ("local", "full", True)
    assert found.partitions[0].cpus >= 1
    assert found.partitions[0].memory_bytes > 0


async def test_log_is_two_descriptors(tmp_path: Path) -> None:
    """Output and index, ours to close; anything else is no log."""
    log = tmp_path / "log"
    log.write_bytes(b"hello")

    async def lend(message: bytes, _peer: Peer) -> Answer:
        call = decode_call(message)
        assert call.verb is Verb.LOG
        if call.subject == "none":
            return encode_reply(Reply(fault=Fault.NOT_FOUND)), ()
        count = 2 if call.subject == "web-1" else 1
        return encode_reply(Reply()), [os.open(log, os.O_RDONLY) for _ in range(count)]

    async with played(tmp_path, lend) as runtime:
        output, index = await runtime.open_log("web-1")
        assert os.read(output, 9) == b"hello"
        os.close(output)
        os.close(index)
        for job in ("none", "half"):
            with pytest.raises(ProblemError) as caught:
                await runtime.open_log(job)
            assert caught.value.problem.code is Code.LOG_UNAVAILABLE


def test_accounts_have_own_uids_only_with_a_range(tmp_path: Path) -> None:
    """Started as a normal user, everyone's jobs share its uid."""
    own = LocalRuntime(tmp_path, tmp_path, 70000).account_of(7, "alice")
    assert (own.uid, own.home) == (70007, f"{tmp_path}/homes/alice")
    assert LocalRuntime(tmp_path, tmp_path, None).account_of(7, "alice").uid is None
