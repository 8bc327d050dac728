"""Ending the platform, and its jobs when asked. The bridge here is a small one that answers as the real one does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from control.config import read_settings
from control.supervisor import crew
from control.supervisor.crew import Ground
from control.supervisor.down import down, end_jobs
from control.supervisor.worker import Recipe
from tests.control.supervisor.running import instance

BRIDGE = Path(__file__).with_name("tiny_bridge.py").read_text()


async def test_down_drains_what_runs_and_says_when_nothing_does(tmp_path: Path) -> None:
    """The platform ends by its own signal; a second call finds nothing."""
    settings = read_settings({"STARLIGHT_DATA_DIR": str(tmp_path / "data")})
    assert await down(settings) is None
    with instance(tmp_path / "data") as running:
        running.wait_for("ready.")
        assert await down(settings) == []
        assert running.process.wait(10) == 0
        running.wait_for("SIGTERM: draining")
    assert await down(settings) is None


async def test_a_stale_pid_file_kills_nobody(tmp_path: Path) -> None:
    """The lock, not the pid file, says whether a supervisor runs: the pid may be another's by now."""
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    (run_dir / "supervisor.pid").write_text(f"{os.getpid()}\n")
    assert await down(read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)})) is None


async def test_jobs_are_ended_through_the_bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 45 jobs the living are stopped and waited for; the ended are left alone; the bridge goes again."""
    settings = read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)})
    for number in range(45):
        folder = tmp_path / "bridge" / "jobs" / f"job-{number:02}"
        folder.mkdir(parents=True)
        (folder / "status.json").write_text(json.dumps({"state": "running" if number % 3 else "ended"}))

    def tiny_bridge(ground: Ground) -> Recipe:
        real = crew._environment(ground, "bridge-local", secrets=False)
        return Recipe("bridge-local", (crew._python(), "-c", BRIDGE), crew.ROOT, real)

    monkeypatch.setattr(crew, "bridge", tiny_bridge)
    assert await end_jobs(settings, os.environ) == 30
    states = {json.loads(file.read_text())["state"] for file in tmp_path.glob("bridge/jobs/*/status.json")}
    assert states == {"ended"}
    assert not (tmp_path / "run" / "bridge-local.pid").exists()


async def test_without_jobs_no_bridge_is_started(tmp_path: Path) -> None:
    """A platform that never had a job needs nothing to be ended."""
    assert await end_jobs(read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)}), os.environ) == 0
    assert not (tmp_path / "run").exists()
