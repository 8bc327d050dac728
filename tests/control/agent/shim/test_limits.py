"""Cgroup files of both versions, written below a directory that looks like /sys/fs/cgroup."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from control.agent.shim.limits import Cgroup, cgroup_limits, cgroup_name, remove_cgroups
from control.agent.shim.spec import Limits

LIMITS = Limits(cpus=1.5, memory_bytes=1 << 30, time_s=None, processes=100, log_bytes=0)


def version_1(root: Path, *controllers: str) -> Path:
    """One hierarchy a controller, as systems with version 1 have them."""
    for controller in controllers:
        (root / controller).mkdir()
        (root / controller / "cgroup.procs").touch()
    return root


def version_2(root: Path) -> Path:
    """One hierarchy for all."""
    (root / "cgroup.controllers").write_text("cpu memory pids")
    return root


def prepare(place: Path, *files: str) -> None:
    """The kernel makes these files with the directory; here the test does."""
    place.mkdir(parents=True)
    for file in files:
        (place / file).touch()


def test_version_1_has_a_place_for_each_controller(tmp_path: Path) -> None:
    """Each value lands in its own hierarchy."""
    root = version_1(tmp_path, "memory", "pids", "cpu")
    prepare(root / "memory/starlight/j", "memory.limit_in_bytes")
    prepare(root / "pids/starlight/j", "pids.max")
    prepare(root / "cpu/starlight/j", "cpu.cfs_quota_us")
    assert Cgroup("j", LIMITS, root).held == {"memory", "processes", "cpu"}
    assert (root / "memory/starlight/j/memory.limit_in_bytes").read_text() == str(1 << 30)
    assert (root / "pids/starlight/j/pids.max").read_text() == "100"
    assert (root / "cpu/starlight/j/cpu.cfs_quota_us").read_text() == "150000"


def test_version_2_has_one_place(tmp_path: Path) -> None:
    """The controllers are handed down first."""
    root = version_2(tmp_path)
    prepare(root / "starlight/j", "memory.max", "pids.max", "cpu.max")
    assert Cgroup("j", LIMITS, root).held == {"memory", "processes", "cpu"}
    assert (root / "cgroup.subtree_control").exists()
    assert (root / "starlight/j/cpu.max").read_text() == "150000 100000"
    assert (root / "starlight/j/memory.max").read_text() == str(1 << 30)


def test_what_the_machine_lacks_is_not_held(tmp_path: Path) -> None:
    """Honest: a limit is held only where its file could be written."""
    assert Cgroup("j", LIMITS, version_1(tmp_path, "pids")).held == {"processes"}
    assert cgroup_limits(tmp_path / "nothing") == set()


def test_what_is_not_limited_makes_no_place(tmp_path: Path) -> None:
    """No limit, no cgroup."""
    nothing = Limits(cpus=None, memory_bytes=None, time_s=None, processes=None, log_bytes=0)
    root = version_1(tmp_path, "memory")
    assert Cgroup("j", nothing, root).held == set()
    assert not (root / "memory/starlight").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        ("memory.events", "low 0\noom 3\noom_kill 2\n"),
    ],
)
def test_kills_for_memory_are_counted(tmp_path: Path, file: str, content: str) -> None:
    """Both versions tell them, in other words."""
    root = version_1(tmp_path, "memory")
    cgroup = Cgroup("j", LIMITS, root)
    assert cgroup.out_of_memory_kills() == 0
    (root / "memory/starlight/j" / file).write_text(content)
    assert cgroup.out_of_memory_kills() == 2


def test_cgroups_of_a_killed_shim_can_be_removed(tmp_path: Path) -> None:
    """Their name follows from the job's directory alone."""
    root = version_1(tmp_path, "memory")
    job_dir = Path("/data/bridge/jobs/job-1")
    Cgroup(cgroup_name(job_dir), LIMITS, root)
    place = root / "memory/starlight" / cgroup_name(job_dir)
    assert place.exists()
    remove_cgroups(job_dir, root)
    assert not place.exists()
    assert cgroup_name(job_dir) != cgroup_name(Path("/other/bridge/jobs/job-1"))


def test_without_a_cgroup_each_process_is_limited() -> None:
    """The stand-in is a resource limit: the program that wants too much fails by itself."""
    limit = "from control.agent.shim.limits import limit_memory_of_each_process as limit"
    script = f"{limit}; limit(100 << 20); bytearray(200 << 20)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, env={**os.environ})
    assert b"MemoryError" in done.stderr


def test_without_a_cgroup_the_persons_processes_are_limited() -> None:
    """For good: what the limit was before, no program of the job may set again."""
    script = "from control.agent.shim.limits import limit_processes_of_the_person as limit; limit(123)"
    show = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))"
    done = subprocess.run([sys.executable, "-c", f"{script}; {show}"], capture_output=True, check=True)
    assert done.stdout == b"(123, 123)\n"


def test_a_job_goes_before_the_platform_when_memory_is_short() -> None:
    """What a process starts inherits it, so that many small processes hide no better than one large."""
    script = "from control.agent.shim.limits import be_ended_first_out_of_memory as offer; offer(); import os"
    look = "os.execlp('cat', 'cat', '/proc/self/oom_score_adj')"
    done = subprocess.run([sys.executable, "-c", f"{script}; {look}"], capture_output=True, check=True)
    assert int(done.stdout) >= 500
