"""Every process of the job: the whole pid namespace, or the descendants where there is none."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

_SWEEPS = 20
"""A job that forks faster than this many looks at /proc find it is ended by its limits instead."""


def signal_job(number: int) -> None:
    """Sends a signal to every process of the job but this one."""
    if os.getpid() == 1:
        with suppress(ProcessLookupError):
            os.kill(-1, number)  # the kernel spares the caller and reaches the whole pid namespace
        return
    seen: set[int] = set()
    for _ in range(_SWEEPS):
        new = descendants(os.getpid()) - seen
        if not new:
            return
        for pid in new:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        seen |= new


def descendants(root: int) -> set[int]:
    """The pids below `root`, as /proc shows them at this moment."""
    parents = {pid: parent for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if (parent := _parent(pid))}
    found: set[int] = set()
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent == root or parent in found} - found
        found |= children
        grown = bool(children)
    return found


def foreground_group(leader: int) -> int:
    """The process group that a session's terminal listens to; the leader's own without a terminal."""
    fields = _stat(leader)
    terminal_group = int(fields[5]) if len(fields) > 5 else -1
    return terminal_group if terminal_group > 0 else leader


def signal_session(leader: int, number: int) -> None:
    """Sends a signal to what a person would reach at the keyboard: the session's foreground group.

    A hang-up goes to the leader's group as well, as when a line drops.
    """
    groups = {foreground_group(leader)} | ({leader} if number == signal.SIGHUP else set())
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else 0


def _stat(pid: int) -> list[str]:
    """The fields after the command's name, which may itself hold spaces and parentheses: state, ppid, pgrp ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
