"""Makes a person's home and a job's work directory, and reads the keys in it, without trusting what lies in the home.

The home is the person's: a symbolic link planted in it must not lead root anywhere. Every step is
taken from an open directory, refuses links, and is taken *as* the person (the kernel's fsuid), so
that root's rights are never what makes it succeed.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

_HOME_MODE: Final = 0o700
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_libc: Final = ctypes.CDLL(None, use_errno=True)


def make_home(homes: Path, home: Path, work_dir: Path, uid: int | None) -> None:
    """Makes `home` below `homes` and `work_dir` below it, owned by `uid` (None: by this process's own user).

    Raises ValueError when they do not lie so, OSError when something else lies in the way.
    """
    if home.parent != homes or home.name in ("", ".", ".."):
        raise ValueError(f"{home} is not a home below {homes}")
    below = work_dir.relative_to(home).parts
    if ".." in below:
        raise ValueError(f"{work_dir} does not stay below {home}")
    with ExitStack() as opened:
        place = _step_into(str(homes), None, opened)
        _make_own(home.name, place, uid)
        place = _step_into(home.name, place, opened, owner=os.getuid() if uid is None else uid)
        with _acting_as(uid):
            for name in below:
                _make(name, place)
                place = _step_into(name, place, opened, owner=os.getuid() if uid is None else uid)


def read_keys(homes: Path, name: str, limit: int) -> bytes:
    """The home's .ssh/authorized_keys, of at most `limit` bytes, read as the person.

    As sshd does with StrictModes: neither the home nor what leads to the file may be another's or
    writable by others. Blocks. Raises OSError: FileNotFoundError when there is no such home or file.
    """
    with ExitStack() as opened:
        place = _step_into(str(homes), None, opened)
        place = _step_into(name, place, opened)
        owner = os.fstat(place).st_uid
        if owner == 0 and os.geteuid() == 0:
            raise PermissionError(1, f"the home {name} is root's")
        with _acting_as(owner if os.geteuid() == 0 else None):
            _must_be_own(place, owner)
            place = _step_into(".ssh", place, opened, owner=owner)
            _must_be_own(place, owner)
            # O_NONBLOCK: a pipe in the file's place must not hold us.
            file = os.open("authorized_keys", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
            opened.callback(os.close, file)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise PermissionError(1, "authorized_keys is not a file")
            _must_be_own(file, owner)
            return _read(file, limit)


def _must_be_own(opened: int, owner: int) -> None:
    found = os.fstat(opened)
    if found.st_uid != owner or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(1, "another may write what leads to authorized_keys, or the file itself")


def _read(file: int, limit: int) -> bytes:
    content = bytearray()
    while part := os.read(file, limit + 1 - len(content)):
        content += part
        if len(content) > limit:
            raise OSError(27, "authorized_keys is too large")
    return bytes(content)


def _make_own(name: str, homes: int, uid: int | None) -> None:
    """The home itself lies in root's directory: root makes it and gives it away before it is of any use."""
    if _make(name, homes) and uid is not None:
        os.chown(name, uid, uid, dir_fd=homes, follow_symlinks=False)


def _make(name: str, directory: int) -> bool:
    try:
        os.mkdir(name, _HOME_MODE, dir_fd=directory)
    except FileExistsError:
        return False
    return True


def _step_into(name: str, directory: int | None, opened: ExitStack, *, owner: int | None = None) -> int:
    place = os.open(name, _OPEN, dir_fd=directory)
    opened.callback(os.close, place)
    found = os.fstat(place).st_uid
    if owner is not None and found != owner:
        raise PermissionError(1, f"{name} belongs to uid {found}, not to {owner}")
    return place


@contextmanager
def _acting_as(uid: int | None) -> Iterator[None]:
    """File access by this thread is the person's; no await may happen inside."""
    if uid is None:
        yield
        return
    _libc.setfsgid(uid)
    _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(os.geteuid())
        _libc.setfsgid(os.getegid())
