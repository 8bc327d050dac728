"""spec.json as the shim reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from control.agent.shim.spec import read_spec

PLAIN: dict[str, Any] = {
    "job": "job-1",
    "owner": {"name": "alice", "uid": 1001},
    "home": "/data/homes/alice",
    "work_dir": "/data/homes/alice/jobs/job-1",
    "command": ["sleep", "1"],
    "env": {"A": "b"},
    "cpus": 2,
    "memory_bytes": 1 << 30,
    "time_limit_s": 60,
    "readonly": ["/data/apps/x"],
    "log_limit_bytes": 1000,
    "sandbox": {"isolation": "full", "network": "pasta", "masks": ["/root"], "python": "/usr/bin/python3"},
}


def written(directory: Path, plain: dict[str, Any]) -> Path:
    """The file."""
    (directory / "spec.json").write_text(json.dumps(plain))
    return directory / "spec.json"


def test_everything_told_is_read(tmp_path: Path) -> None:
    """What is left out is no limit."""
    spec = read_spec(written(tmp_path, PLAIN))
    assert (spec.uid, spec.command, spec.limits.cpus, spec.limits.log_bytes) == (1001, ("sleep", "1"), 2, 1000)
    assert spec.limits.processes is None
    assert spec.sandbox.python_home is None


def test_no_uid_is_the_shims_own(tmp_path: Path) -> None:
    """Started by a normal user, all jobs run as that user."""
    assert read_spec(written(tmp_path, PLAIN | {"owner": {"name": "alice"}})).uid is None


@pytest.mark.parametrize("missing", ["job", "command", "sandbox", "log_limit_bytes"])
def test_half_a_spec_is_none(tmp_path: Path, missing: str) -> None:
    """The shim does not guess."""
    with pytest.raises(KeyError):
        read_spec(written(tmp_path, {name: value for name, value in PLAIN.items() if name != missing}))
