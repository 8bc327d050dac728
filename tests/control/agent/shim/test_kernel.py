"""System calls that Python does not have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from control.agent.shim import kernel


def test_pid_and_start_name_a_process() -> None:
    """The same process gives the same ticks; one that is gone gives 0."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        ticks = kernel.start_ticks(process.pid)
        assert ticks == kernel.start_ticks(process.pid) > kernel.start_ticks(1) >= 0
        process.kill()
        process.wait()
    assert kernel.start_ticks(process.pid) == 0


def test_a_dead_child_that_nobody_reaped_is_dead() -> None:
    """A zombie holds a pid and nothing else."""
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert kernel.start_ticks(process.pid) == 0


def test_a_refused_call_raises_with_its_reason() -> None:
    """Like Python's own: OSError with errno."""
    with Path("/dev/null").open("rb") as file, pytest.raises(OSError, match="Invalid argument"):
        kernel.setns(file.fileno(), kernel.CLONE_NEWNET)


def test_the_boot_has_one_name() -> None:
    """It does not change while the machine runs."""
    assert kernel.boot_id() == kernel.boot_id()
