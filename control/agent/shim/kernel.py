"""The system calls that Python 3.11 does not offer, each raising OSError like its own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

CLONE_NEWNS: Final = 0x00020000
CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000

_MS_BIND: Final = 0x1000
_MS_REC: Final = 0x4000
_MS_SLAVE: Final = 1 << 19
_MNT_DETACH: Final = 2
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36

_libc: Final = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Moves this process into new namespaces."""
    _checked(_libc.unshare(flags))


def setns(descriptor: int, kind: int) -> None:
    """Moves this process into the open namespace."""
    _checked(_libc.setns(descriptor, kind))


def keep_mounts_to_myself() -> None:
    """A mount namespace of this process's own: it still learns of the machine's mounts, and tells of none."""
    unshare(CLONE_NEWNS)
    _checked(_libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None))


def bind(source: Path, target: Path) -> None:
    """Mounts one file over another."""
    _checked(_libc.mount(os.fsencode(source), os.fsencode(target), None, _MS_BIND, None))


def unbind(target: Path) -> None:
    """Takes away what `bind` mounted, at once for new uses."""
    _checked(_libc.umount2(os.fsencode(target), _MNT_DETACH))


def adopt_orphans() -> None:
    """Makes this process the parent of every orphan below it."""
    _checked(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def die_with_parent(number: int) -> None:
    """Has the kernel send this process a signal when its parent ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0))


def boot_id() -> str:
    """Names this boot of the machine: process ids of another one mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since the boot; 0 when there is none. Pid and start name it for good."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
