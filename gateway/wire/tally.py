"""What all gateway processes of this machine count together, though none ever asks another.

Each process writes counts into a table of its own, mapped from a file, and reads those of its siblings: a limit
of an entry is one limit, however many processes serve it. A table is a few ways wide: when two keys want the
same place, the older goes, so that its size is fixed and a flood of visitors makes nothing grow.

State: this process's table and the maps of its siblings'. A table whose process no longer beats is not read.
Torn reads are possible and harmless: a count may be off by one for the blink of an eye.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gateway.core.pace import minute_of

log = logging.getLogger(__name__)

DEAD_S: Final = 5.0
"""Seconds without a beat after which a table is its dead process's."""
_HEAD: Final = struct.Struct("<d8x")
_CELL: Final = struct.Struct("<IIII")
"""Mark of the key, the minute, and the counts of that minute and of the one before it."""
_SETS: Final = 4096
_WAYS: Final = 4
_BYTES: Final = _HEAD.size + _CELL.size * _SETS * _WAYS
_STANDING: Final = 0xFFFFFFFF
"""Stands in the minute's place for what is true until it is changed: connections that are open."""


class Tally:
    """One process's table, and what its siblings' say."""

    def __init__(self, folder: Path | None, name: str) -> None:
        """`folder` is shared with the siblings, `name` this process's alone; without a folder nobody else counts."""
        self._folder = folder
        self._name = name
        self._siblings: dict[str, mmap.mmap] = {}
        self._live: list[mmap.mmap] = []
        self._own = self._make()

    def beat(self, now: float) -> None:
        """Says that this process lives, and looks which others do; called about once a second."""
        _HEAD.pack_into(self._own, 0, now)
        if self._folder is None:
            return
        for path in self._folder.iterdir():
            if path.name != self._name and path.name not in self._siblings:
                with contextlib.suppress(OSError, ValueError):
                    self._siblings[path.name] = _map(path)
        for name in [name for name, table in self._siblings.items() if now - _beat_of(table) >= DEAD_S]:
            self._siblings.pop(name).close()  # looked at anew at the next beat: it may be another file by then
        self._live = list(self._siblings.values())

    # Connections of an entry.

    def hold(self, entry_id: int, count: int) -> None:
        """This process holds `count` connections of the entry."""
        _put(self._own, *_place(f"entry:{entry_id}"), _STANDING, count)

    def held_elsewhere(self, entry_id: int) -> int:
        """How many connections of the entry the other processes hold."""
        sets, mark = _place(f"entry:{entry_id}")
        return sum(_get(table, sets, mark, _STANDING)[1] for table in self._live)

    # Requests of a visitor.

    def asked(self, entry_id: int, visitor: str, now: float) -> tuple[int, int]:
        """How many requests of the visitor were let through, in the minute before this one and in this one."""
        sets, mark = _place(f"visitor:{entry_id}:{visitor}")
        counts = [_get(table, sets, mark, minute_of(now)) for table in (self._own, *self._live)]
        return sum(before for before, _ in counts), sum(during for _, during in counts)

    def ask(self, entry_id: int, visitor: str, now: float) -> None:
        """One more request of the visitor is let through."""
        sets, mark = _place(f"visitor:{entry_id}:{visitor}")
        minute = minute_of(now)
        _put(self._own, sets, mark, minute, _get(self._own, sets, mark, minute)[1] + 1)

    def _make(self) -> mmap.mmap:
        """A table without counts; one in memory alone when the disk has no room for a shared one."""
        if self._folder is not None:
            try:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                return _made(self._folder / self._name)
            except OSError as fault:
                log.warning("limits of entries are counted by this process alone: %s", fault.strerror)
                self._folder = None
        return mmap.mmap(-1, _BYTES)


def _made(path: Path) -> mmap.mmap:
    """The table of a predecessor, emptied in place, because siblings map it; or a new one."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, _BYTES)  # a hole that the disk cannot fill later would kill the process
        table = mmap.mmap(descriptor, _BYTES)
    finally:
        os.close(descriptor)
    table[:] = bytes(_BYTES)
    return table


def _map(path: Path) -> mmap.mmap:
    """A sibling's table, to read. Raises OSError or ValueError for what is none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return mmap.mmap(descriptor, _BYTES, prot=mmap.PROT_READ)
    finally:
        os.close(descriptor)


def _beat_of(table: mmap.mmap) -> float:
    beat: float = _HEAD.unpack_from(table, 0)[0]
    return beat


def _place(key: str) -> tuple[int, int]:
    """Where a key's cells begin, and its mark, which is never 0."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    at, mark = struct.unpack("<II", digest)
    return _HEAD.size + (at % _SETS) * _WAYS * _CELL.size, mark or 1


def _cells(table: mmap.mmap, at: int) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
    for offset in range(at, at + _WAYS * _CELL.size, _CELL.size):
        mark, minute, during, before = _CELL.unpack_from(table, offset)
        yield offset, (mark, minute, during, before)


def _get(table: mmap.mmap, at: int, mark: int, minute: int) -> tuple[int, int]:
    """The counts of the minute before, and of this one."""
    for _, (held, of, during, before) in _cells(table, at):
        if held == mark:
            if of == minute:
                return before, during
            return (during, 0) if of == minute - 1 else (0, 0)
    return 0, 0


def _put(table: mmap.mmap, at: int, mark: int, minute: int, count: int) -> None:
    """Sets the count of this minute, in the key's own cell or in that of whoever was seen longest ago."""
    before, _ = _get(table, at, mark, minute)
    cells = list(_cells(table, at))
    offset = next((offset for offset, cell in cells if cell[0] == mark), None)
    if offset is None:
        offset = min(cells, key=lambda found: found[1][1])[0]
    gone = minute == _STANDING and not count
    _CELL.pack_into(table, offset, *((0, 0, 0, 0) if gone else (mark, minute, count, before)))
