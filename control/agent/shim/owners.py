"""Whose listener is it: asked before a connection where the job shares the machine's network (no isolation)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_LISTEN: Final = "0A"
_UNIX_LISTENING: Final = "00010000"
_LOOPBACK_OR_ANY: Final = frozenset(
    {"0100007F", "00000000", "0" * 32, "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
)


def listens_in_job(inner_pid: int, *, port: int | None = None, path: str | None = None) -> bool:
    """Whether every listener that a connection to the port or path could meet is held by a process of the job."""
    inodes = _tcp_listeners(port) if port is not None else _unix_listeners(path or "")
    if not inodes:
        return False
    members = {inner_pid, *descendants(inner_pid)}
    held: set[str] = set()
    for pid in members:
        held |= _sockets_of(pid)
    return inodes <= held


def descendants(root: int) -> set[int]:
    """The pids below `root`, as /proc shows them at this moment."""
    parents: dict[int, int] = {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError, IndexError, ValueError):
            text = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
            parents[int(name)] = int(text.rpartition(")")[2].split()[1])
    found: set[int] = set()
    grown = True
    while grown:
        children = {pid for pid, parent in parents.items() if parent == root or parent in found} - found
        found |= children
        grown = bool(children)
    return found


def _tcp_listeners(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                address, _, number = fields[1].partition(":")
                if fields[3] == _LISTEN and int(number, 16) == port and address in _LOOPBACK_OR_ANY:
                    found.add(fields[9])
    return found


def _unix_listeners(path: str) -> set[str]:
    found: set[str] = set()
    for line in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()[1:]:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and fields[3] == _UNIX_LISTENING and fields[7] == path:
            found.add(fields[6])
    return found


def _sockets_of(pid: int) -> set[str]:
    found: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
    return found
