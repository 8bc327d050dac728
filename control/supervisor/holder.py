"""Who holds a TCP port: read from /proc, so that a refusal can name the program to end.

Best effort: without root, another user's process cannot be named, only the user.
"""

from __future__ import annotations

import contextlib
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_LISTEN: Final = "0A"


@dataclass(frozen=True, slots=True)
class _Use:
    """One line of /proc/net/tcp about the port."""

    listens: bool
    uid: int
    inode: int


def holder_of(port: int, proc: Path = PROC) -> str:
    """Names what holds `port`: `nginx (pid 812)`, an outgoing connection, a user, or that it cannot be told."""
    uses = sorted(_uses_of(port, proc), key=lambda use: not use.listens)
    for use in uses:
        process = _process_with(use.inode, proc)
        if process:
            return process if use.listens else f"an outgoing connection of {process}"
    if uses and uses[0].inode:
        return f"a process of user {_user_name(uses[0].uid)}"
    return "a connection that has just ended" if uses else "a process that cannot be seen from here"


def _uses_of(port: int, proc: Path) -> list[_Use]:
    found = []
    for table in (proc / "net/tcp", proc / "net/tcp6"):
        with contextlib.suppress(OSError):  # no IPv6 here
            for line in table.read_text().splitlines()[1:]:
                columns = line.split()
                if int(columns[1].rpartition(":")[2], 16) == port:
                    found.append(_Use(columns[3] == _LISTEN, int(columns[7]), int(columns[9])))
    return found


def _process_with(inode: int, proc: Path) -> str:
    wanted = f"socket:[{inode}]"
    for process in proc.iterdir():
        if not process.name.isdecimal() or not inode:
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile, or is not ours to look at
            if any(str(link.readlink()) == wanted for link in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
    return ""


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
