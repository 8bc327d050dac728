"""Becoming a worker. What needs root is seen in test_up.py as well, with real workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from control.supervisor import launch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="dropping rights needs root")
PYTHON = str(Path(sys.executable).resolve())
TELL = "import os, json; print(json.dumps([os.getresuid(), os.getresgid(), os.getgroups(), os.getcwd()]))"


def launched(plan: dict[str, object], *command: str) -> subprocess.CompletedProcess[str]:
    """Runs launch.py as the supervisor does."""
    words = [sys.executable, "-I", "-S", launch.__file__, json.dumps(plan), *command]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)


def test_the_command_runs_as_its_uid_with_nothing_left() -> None:
    """All three ids change, no group stays, and the working directory is set afterwards."""
    plan = {"uid": 60123, "cwd": "/usr", "hidden": [], "shown": []}
    done = launched(plan, "/usr/bin/python3", "-c", TELL)
    assert json.loads(done.stdout) == [[60123] * 3, [60123] * 3, [], "/usr"]
    status = launched(plan, "/bin/cat", "/proc/self/status").stdout
    for line in ("CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"):
        assert line in status


def test_a_closed_folder_shows_the_wanted_trees_and_nothing_else(tmp_path: Path) -> None:
    """Inside, the closed folder is an empty one that holds the tree; outside nothing has changed."""
    closed = tmp_path / "closed"
    tree = closed / "deep" / "tree"
    tree.mkdir(parents=True)
    (tree / "file").write_text("seen")
    (tree / "file").chmod(0o644)
    (closed / "secret").write_text("hidden")
    for folder in (closed, tmp_path, tmp_path.parent):
        folder.chmod(0o700)
    outermost = next(folder for folder in reversed(closed.parents) if not folder.stat().st_mode & 0o001)
    plan = {"uid": 60123, "cwd": "/", "hidden": [str(outermost)], "shown": [str(tree)]}
    assert launched(plan, "/bin/cat", str(tree / "file")).stdout == "seen"
    assert "No such file" in launched(plan, "/bin/cat", str(closed / "secret")).stderr
    assert (closed / "secret").read_text() == "hidden"


def test_a_step_that_fails_is_named() -> None:
    """What cannot be mounted is told; nothing runs with rights that were meant to be gone."""
    plan = {"uid": 60123, "cwd": "/", "hidden": ["/nonexistent-folder"], "shown": []}
    done = launched(plan, "/bin/echo", "ran")
    assert done.returncode != 0
    assert "mounting /nonexistent-folder: No such file or directory" in done.stderr
    assert "ran" not in done.stdout
