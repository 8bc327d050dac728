"""The job's limits: cgroups of version 1 or 2 where this process may make them, resource limits elsewhere.

State: the cgroup directories of one job. They are removed when the job has ended.
"""

from __future__ import annotations

import hashlib
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from .spec import Limits

CGROUPS: Final = Path("/sys/fs/cgroup")
PARENT: Final = "starlight"
_PERIOD_US: Final = 100_000
_OUT_OF_MEMORY_SCORE: Final = 500
"""Half of the machine's memory, added to what a job's process uses when the kernel looks for one to end."""


class Cgroup:
    """One job's cgroups. `held` names what they limit: some of memory, processes, cpu."""

    def __init__(self, name: str, limits: Limits, root: Path = CGROUPS) -> None:
        """What cannot be made is left out; see `held`."""
        self._places: list[Path] = []
        self.held: set[str] = set()
        for controller, word, values in _wanted(limits):
            with suppress(OSError):
                self._limit(root, name, controller, values)
                self.held.add(word)

    def join(self) -> None:
        """Moves the calling process in; what it starts from now on is counted."""
        for place in self._places:
            (place / "cgroup.procs").write_text("0", encoding="ascii")

    def out_of_memory_kills(self) -> int:
        """How many of the job's processes the kernel ended because the job used too much memory."""
        kills = 0
        for place in self._places:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    words = (place / name).read_text(encoding="ascii").split()
                    kills += int(dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", 0))
        return kills

    def remove(self) -> None:
        """Removes the empty cgroups."""
        for place in self._places:
            with suppress(OSError):
                place.rmdir()

    def _limit(self, root: Path, name: str, controller: str, values: dict[str, str]) -> None:
        unified = (root / "cgroup.controllers").exists()
        parent = root / PARENT if unified else root / controller / PARENT
        if not unified and not (root / controller / "cgroup.procs").exists():
            raise FileNotFoundError(controller)
        parent.mkdir(exist_ok=True)
        if unified:
            for above in (root, parent):
                (above / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
        place = parent / name
        place.mkdir(exist_ok=True)
        for file, value in values.items():
            if (place / file).exists():
                (place / file).write_text(value, encoding="ascii")
        if place not in self._places:
            self._places.append(place)


def cgroup_name(job_dir: Path) -> str:
    """One name for each job of each instance on this machine."""
    return f"{job_dir.name}-{hashlib.sha256(os.fsencode(job_dir)).hexdigest()[:12]}"


def remove_cgroups(job_dir: Path, root: Path = CGROUPS) -> None:
    """Removes what a shim that was killed could not."""
    for place in (root / PARENT, *root.glob(f"*/{PARENT}")):
        with suppress(OSError):
            (place / cgroup_name(job_dir)).rmdir()


def limit_memory_of_each_process(limit_bytes: int) -> None:
    """The soft stand-in for a memory cgroup: no single process may hold more private memory than this."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))


def limit_processes_of_the_person(most: int) -> None:
    """The stand-in for a pids cgroup: so many processes of this uid in this user namespace and those below it.

    To be called in the user namespace that the job gets (there the count is the job's alone, since Linux
    5.14), or where the uid is a person's own; else the platform's processes would be counted with it.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (wanted, wanted))


def be_ended_first_out_of_memory() -> None:
    """When the machine itself runs out of memory, this process and what it starts go before the platform's own.

    A job without a memory limit may fill the machine, its private /tmp included; without this the kernel
    would end whatever is largest, control or the database as soon as a hundred small processes of a job.
    """
    with suppress(OSError):  # a stricter value that was inherited may not be lowered
        Path("/proc/self/oom_score_adj").write_text(str(_OUT_OF_MEMORY_SCORE), encoding="ascii")


def cgroup_limits(root: Path = CGROUPS) -> set[str]:
    """What cgroups made by this process can limit on this machine."""
    name = f"probe-{os.getpid()}"
    probe = Cgroup(name, Limits(cpus=1, memory_bytes=1 << 30, time_s=None, processes=100, log_bytes=0), root)
    probe.remove()
    return probe.held


def _wanted(limits: Limits) -> list[tuple[str, str, dict[str, str]]]:
    """Controller, our word for it, and the files of both cgroup versions; a file that is not there is skipped."""
    wanted: list[tuple[str, str, dict[str, str]]] = []
    if limits.memory_bytes is not None:
        memory = str(limits.memory_bytes)
        files = {"memory.limit_in_bytes": memory, "memory.max": memory, "memory.oom.group": "0"}
        wanted.append(("memory", "memory", files))
    if limits.processes is not None:
        wanted.append(("pids", "processes", {"pids.max": str(limits.processes)}))
    if limits.cpus is not None:
        quota = max(1000, int(limits.cpus * _PERIOD_US))
        files = {"cpu.cfs_quota_us": str(quota), "cpu.max": f"{quota} {_PERIOD_US}"}
        wanted.append(("cpu", "cpu", files))
    return wanted
