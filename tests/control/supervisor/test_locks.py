"""One supervisor a data directory, and no new workers beside old ones. test_up.py kills real ones."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from control.supervisor.locks import HeldError, hold_supervisor_lock, hold_workers_lock, is_supervised


def test_the_second_holder_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """It names the directory, the pid when known, and what to do."""
    assert not is_supervised(tmp_path)
    held = hold_supervisor_lock(tmp_path)
    (tmp_path / "supervisor.pid").write_text("4711\n")
    assert is_supervised(tmp_path)
    with pytest.raises(HeldError, match=r"already runs on .* \(pid 4711\)\. Stop it with `starlight down`"):
        hold_supervisor_lock(tmp_path)
    os.close(held)
    assert not is_supervised(tmp_path)
    os.close(hold_supervisor_lock(tmp_path))


async def test_a_worker_keeps_the_lock_that_it_inherited(tmp_path: Path) -> None:
    """The first holder is gone, its child is not: the next waits until the child ends."""
    first = await hold_workers_lock(tmp_path, patience_s=1)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[first])
    os.close(first)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(hold_workers_lock(tmp_path, patience_s=30))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        await asyncio.to_thread(child.communicate, b"\n")
        os.close(await asyncio.wait_for(waiting, 5))


async def test_a_holder_that_stays_is_killed(tmp_path: Path) -> None:
    """Patience ends: whoever still holds the file is not waited for any longer."""
    first = await hold_workers_lock(tmp_path, patience_s=1)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[first])
    os.close(first)
    os.close(await asyncio.wait_for(hold_workers_lock(tmp_path, patience_s=0.1), 10))
    assert child.wait(5) == -9
    child.communicate()
