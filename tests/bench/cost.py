"""CPU time of a process tree: the measure of a comparison, because it held where requests/s swung with the noise."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

PROXY_CORE: Final = 0
LOAD_CORE: Final = 1
_CPUCLOCK_SCHED: Final = 2
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")


def pinned(core: int, command: list[str]) -> list[str]:
    """The command, run on one core."""
    return ["taskset", "-c", str(core), *command]


def cpu_s(root: int) -> float:
    """User and system seconds of the process and all that descend from it, those that ended included."""
    return sum(_own_s(pid) for pid in tree(root))


def tree(root: int) -> list[int]:
    """The process and its descendants that live now."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        if (fields := _stat(int(path.name))) is not None:
            children.setdefault(int(fields[1]), []).append(int(path.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def _own_s(pid: int) -> float:
    """The process's own time to the nanosecond (clock_getcpuclockid(3)), and its ended children's in ticks."""
    fields = _stat(pid)
    if fields is None:
        return 0.0
    try:
        own = time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)
    except OSError:
        return 0.0  # it has just ended: its time is its parent's now
    return own + sum(int(field) for field in fields[13:15]) * _TICK_S


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name, from the state on (proc(5), fields 3 and following)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
