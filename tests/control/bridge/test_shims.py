"""Starting shims, and asking those that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.bridge.shims import ask, spawn
from gateway.contract.bridge import Fault, Verb


async def test_a_shim_that_is_gone_is_not_running(tmp_path: Path) -> None:
    """No directory, no socket, nobody behind the socket: one answer."""
    (tmp_path / "job-1").mkdir()
    for job_dir in (tmp_path / "job-0", tmp_path / "job-1"):
        reply, descriptors = await ask(job_dir, Verb.CONNECT, {"port": 1})
        assert (reply.fault, descriptors) == (Fault.NOT_RUNNING, [])


async def test_a_shim_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    """In its own last words."""
    (tmp_path / "status.json").mkdir()
    with pytest.raises(OSError, match=r"the shim did not come up: status\.json cannot be written"):
        await spawn(tmp_path)
