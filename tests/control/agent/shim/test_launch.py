"""A launch that cannot be had says why, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from control.agent.shim.launch import launch
from control.agent.shim.limits import cgroup_name
from control.agent.shim.owners import descendants
from control.agent.shim.spec import Spec, read_spec
from tests.control.agent.shim.test_spec import PLAIN, written


@pytest.fixture
def job_dir() -> Iterator[Path]:
    """A directory outside what the sandbox masks."""
    directory = Path(tempfile.mkdtemp(dir="/var/tmp"))
    yield directory
    shutil.rmtree(directory)


def spec_in(job_dir: Path, **sandbox: Any) -> Spec:
    """A spec whose job belongs to a person's uid when this is root."""
    (job_dir / "home").mkdir()
    owner = {"name": "alice", "uid": 700001001 if os.geteuid() == 0 else None}
    plain = PLAIN | {"owner": owner, "home": str(job_dir / "home"), "work_dir": str(job_dir / "home"), "readonly": []}
    return read_spec(written(job_dir, plain | {"sandbox": PLAIN["sandbox"] | {"network": "loopback"} | sandbox}))


def test_the_inner_half_comes_up(job_dir: Path) -> None:
    """It answers, it is not our own pid, and it has a proxy where there is no other way out."""
    launched = launch(spec_in(job_dir), job_dir)
    assert launched.inner_pid in {launched.pid, *descendants(launched.pid)}
    assert launched.proxy is not None
    assert launched.proxy.startswith("http://127.0.0.1:")
    os.kill(launched.inner_pid, signal.SIGKILL)
    os.waitpid(launched.pid, 0)
    launched.release(job_dir)
    for pid in launched.companions:
        os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("sandbox", "words"),
    [
        ({"python": "/no/such/python"}, "/no/such/python"),
        ({"python_home": "/no/such/home"}, "/no/such/home"),
        ({"python": "/bin/false"}, "did not come up"),
    ],
)
def test_what_cannot_be_had_is_said(job_dir: Path, sandbox: dict[str, Any], words: str) -> None:
    """The words of whoever refused; no process and no cgroup is left."""
    with pytest.raises(OSError, match=words):
        launch(spec_in(job_dir, **sandbox), job_dir)
    for pid in descendants(os.getpid()):
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z" or os.waitpid(pid, 0)
    assert not list(Path("/sys/fs/cgroup").glob(f"*/starlight/{cgroup_name(job_dir)}"))
    assert json.loads((job_dir / "spec.json").read_bytes())["job"] == "job-1"
