"""The bridge as a process: it ends when told, and when the supervisor is gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from control.bridge.process import _from_supervisor, _told_to_end
from gateway.contract.calls import Answer, Peer, listen, serve
from tests.control.bridge.running import Bridge


async def test_the_end_of_the_lifeline_is_the_end() -> None:
    """The supervisor holds the other end; when it dies the kernel closes it."""
    reading, writing = os.pipe()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        told = group.create_task(_told_to_end(reading))
        await asyncio.sleep(0)
        assert not told.done()
        os.close(writing)
    os.close(reading)


async def test_a_signal_is_the_end_without_a_lifeline() -> None:
    """SIGTERM, as from the supervisor or by hand."""
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(_told_to_end(None))
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGTERM)


async def test_a_refusal_of_the_supervisor_is_told(tmp_path: Path) -> None:
    """With its reason."""

    async def refuse(message: bytes, _peer: Peer) -> Answer:
        return json.dumps({"ok": False, "detail": f"no {json.loads(message)['name']}"}).encode(), []

    with listen(str(tmp_path / "supervisor.sock")) as listener:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(serve(listener, refuse, deadline_s=5))
            with pytest.raises(ConnectionError, match="no bridge-local"):
                await _from_supervisor(tmp_path, {"verb": "listener", "name": "bridge-local"})
            serving.cancel()


@pytest.mark.asyncio(loop_scope="module")
async def test_the_bridge_ends_by_itself_when_told(bridge: Bridge) -> None:
    """SIGTERM: exit status 0, and its jobs live on."""
    await bridge.submit("lives-1", ["sleep", "1000"])
    await bridge.running("lives-1")
    assert bridge.process is not None
    bridge.stop()
    assert bridge.process.returncode == 0
    assert Path(f"/proc/{bridge.shim_pid('lives-1')}").exists()
    await bridge.start()
    assert (await bridge.state("lives-1"))["state"] == "running"
