"""What the machine allows is tried, and what it refuses is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from control.bridge import capabilities
from control.bridge.capabilities import masked, probe

UID = 700001000 if os.geteuid() == 0 else None


async def test_the_trial_really_runs(tmp_path_factory: pytest.TempPathFactory) -> None:
    """On a machine with bubblewrap it works, and leaves one directory."""
    data = tmp_path_factory.mktemp("data")
    found = await probe(data, data / "trial", UID)
    assert found.isolation == "full"
    assert found.report().keys() == {"isolation", "network", "limits", "sftp", "why"}
    assert found.sandbox()["python"] == found.python
    assert ("network" in found.why) is (found.network != "pasta")


async def test_where_nothing_works_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No isolation is a capability like another, with the reason of whoever refused."""
    monkeypatch.setattr(capabilities, "_SYSTEM_PYTHON", "/no/such/python")
    monkeypatch.setattr(capabilities, "_OWN_PYTHON", "/bin/false")
    found = await probe(tmp_path, tmp_path / "trial", UID)
    assert (found.isolation, found.network) == ("none", "none")
    assert "did not come up" in found.why["isolation"]


def test_a_directory_with_parts_of_the_system_is_not_masked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Settings that lie in / or /etc do not take the system from the jobs; those elsewhere are masked."""
    (tmp_path / "starlight.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path) in masked(Path("/data"))
    assert {"/data", "/root", "/run", "/home"} <= set(masked(Path("/data")))
    for path in ("/", "/usr/lib/python3/dist-packages", "/var", "/etc"):
        assert not capabilities._may_be_masked(Path(path)), path
    for path in ("/etc/starlight", "/srv/starlight", "/var/lib/starlight", "/opt/starlight"):
        assert capabilities._may_be_masked(Path(path)), path


def test_an_interpreter_below_a_mask_comes_back(tmp_path: Path) -> None:
    """Its whole installation, since a program alone does not run."""
    program = tmp_path / "python/bin/python3.12"
    program.parent.mkdir(parents=True)
    program.touch()
    assert capabilities._home_if_hidden(str(program), (str(tmp_path),)) == str(tmp_path / "python")
    assert capabilities._home_if_hidden(str(program), ("/somewhere/else",)) is None
