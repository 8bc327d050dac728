"""The words `up`, `down` and `doctor`, and their exit status."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from control.supervisor.command import main
from control.supervisor.locks import is_supervised
from control.supervisor.passage import ROOT
from tests.control.supervisor.running import PORT_NAMES, free_ports, instance


def test_wrong_settings_are_told_together_with_status_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a fault, on stderr."""
    monkeypatch.setenv("STARLIGHT_HTTP_PORT", "0")
    monkeypatch.setenv("STARLIGHT_REDIS_URL", "redis://nowhere")
    assert main(["up"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(line.startswith("starlight: STARLIGHT_") for line in told)


def test_an_unknown_word_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    """argparse's own status."""
    with pytest.raises(SystemExit) as caught:
        main(["sideways"])
    assert caught.value.code == 2
    assert "sideways" in capsys.readouterr().err


def test_down_without_a_platform_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make stop` twice does not fail."""
    monkeypatch.setenv("STARLIGHT_DATA_DIR", str(tmp_path))
    assert main(["down", "--jobs"]) == 0
    assert f"nothing runs on {tmp_path}" in capsys.readouterr().out


def test_a_detached_start_that_fails_tells_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The end of the log of this start, not of earlier ones, and status 1."""
    with instance(tmp_path / "data") as running:
        running.wait_for("ready.")
        (tmp_path / "data" / "starlight.log").write_text("an earlier start\n")
        monkeypatch.setenv("STARLIGHT_DATA_DIR", str(tmp_path / "data"))
        assert main(["up", "--detach"]) == 1
        told = capsys.readouterr().err
    assert "already runs on" in told
    assert "earlier start" not in told


def detached(data: Path, manner: str, patience_s: float = 60) -> subprocess.CompletedProcess[str]:
    """`starlight up --detach` with tiny workers: the same module stands in for `-m control.supervisor`."""
    ports = dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
    environ = {
        "PATH": os.environ["PATH"],
        "STARLIGHT_DATA_DIR": str(data),
        **{f"STARLIGHT_{name}_PORT": str(port) for name, port in ports.items()},
    }
    words = [sys.executable, "-m", "tests.control.supervisor.instance", manner]
    text = (
        "import sys; from control.supervisor import command; real = command.subprocess.Popen; "
        f"command.subprocess.Popen = lambda given, **more: real([*{words!r}, *map(str, given[6:])], **more); "
        f"command._DETACHED_START_S = {patience_s}; sys.exit(command.main(['up', '--detach']))"
    )
    return subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_detached_start_returns_when_everything_serves(tmp_path: Path) -> None:
    """The starter's terminal may close: the platform is in a session of its own and logs into the data directory."""
    done = detached(tmp_path / "data", "")
    pid = int((tmp_path / "data" / "run" / "supervisor.pid").read_text())
    try:
        assert done.returncode == 0, done.stderr
        assert "is ready" in done.stdout
        assert os.getsid(pid) == pid
        log = tmp_path / "data" / "starlight.log"
        assert "supervisor ready" in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600
    finally:
        os.kill(pid, signal.SIGTERM)


def test_a_detached_start_that_never_serves_is_taken_back(tmp_path: Path) -> None:
    """Workers that keep crashing: the log is told, and nothing is left running."""
    done = detached(tmp_path / "data", "crash", patience_s=2)
    assert done.returncode == 1
    assert "exit status 3; starting it again" in done.stderr
    assert not is_supervised(tmp_path / "data" / "run")
