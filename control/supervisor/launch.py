"""Becomes a worker: opens the passage to its program, drops every right, and executes it under the same pid.

Run by path as root with `python -I -S`, standard library only: `launch.py PLAN COMMAND...`, PLAN being JSON
{"uid", "cwd", "hidden": [...], "shown": [...]} (passage.py says what the last two are).
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

_CLONE_NEWNS = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 2, 4, 4096, 16384, 1 << 19
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL = 24, 38, 47, 4
_libc = ctypes.CDLL(None, use_errno=True)


def main(plan: dict[str, object], command: list[str]) -> None:
    """Never returns: the process becomes `command`. Raises OSError when a step is not possible here."""
    hidden, shown = plan["hidden"], plan["shown"]
    assert isinstance(hidden, list)
    assert isinstance(shown, list)
    uid = int(str(plan["uid"]))
    if hidden:
        open_passage(hidden, shown)
    drop_rights(uid)
    os.chdir(str(plan["cwd"]))
    os.execve(command[0], command, os.environ)  # noqa: S606 - a list of arguments, no shell


def open_passage(hidden: list[str], shown: list[str]) -> None:
    """Replaces each of `hidden` by an empty folder, in this process's own mount namespace, and binds `shown` back."""
    _check(_libc.unshare(_CLONE_NEWNS), "a mount namespace")
    # Slave: what the machine mounts later is still seen here, but nothing done here is seen there.
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)
    os.umask(0o022)
    # Opened while they can still be reached; a descriptor survives being mounted over.
    trees = [(path, os.open(path, os.O_PATH | os.O_DIRECTORY)) for path in shown]
    for folder in hidden:
        _mount("tmpfs", folder, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=1m")
    for path, descriptor in trees:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)
        os.close(descriptor)


def drop_rights(uid: int) -> None:
    """Becomes `uid` (and the group of the same number) with no capability left, and none to be had again."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    capability = 0
    while _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str = "") -> None:
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), data.encode()), f"mounting {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
