"""The last snapshot on disk, so that a gateway serves at once after a restart while control is away.

It holds certificates' keys and the secrets that seal cookies, hence it lies sealed under the feed key
(sealed.py). First comes a list in slices, then what changed since: a change costs its own size, however
long the list is. Now and then, and after a list that differs, the file is made anew, a slice at a time so
that the visits go on. One that does not open (another key, another version, damage) counts as none.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gateway.contract.codec import Change, Record, decode_change, encode_change, key_of, kind_of
from gateway.contract.routes import CONTRACT_VERSION
from gateway.contract.slices import START, encoded, read_slice, slice_line
from gateway.core.table import Table
from gateway.feed.sealed import SealedFile

log = logging.getLogger(__name__)

_HEAD: Final = f"starlight feed copy {CONTRACT_VERSION}\n".encode()
_SLICE: Final = 200
"""Records that are written between two turns of the loop: about two milliseconds."""
_REST: Final = 20
"""Rest per time of writing the whole: a large table must not take the visits' processor time."""
_GROWN: Final = 1000
"""Changes after which the file is made anew, at least; more while the table holds more records than that."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A snapshot, and when control last confirmed it (epoch seconds)."""

    records: list[Record]
    revision: int
    confirmed_at: float


class Disk:
    """One gateway process's copy. Writes happen in a thread, at most one every `every_s` seconds."""

    def __init__(self, path: Path, key: bytes, *, every_s: float = 1.0, refresh_s: float = 30.0) -> None:
        """`key` has 32 bytes. `refresh_s`: an unchanged snapshot is confirmed so often, for its `confirmed_at`."""
        self._file = SealedFile(path, key, _HEAD)
        self._every_s = every_s
        self._refresh_s = refresh_s
        self._edited = asyncio.Event()
        self._whole = True
        """Whether the file must be made anew: at first, and after a fault."""
        self._grown = 0

    def load(self) -> Copy | None:
        """The copy, or None when there is none that opens."""
        try:
            return _read(self._file.read())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as fault:
            log.warning("the snapshot on disk does not open (%s): waiting for control", type(fault).__name__)
            return None

    async def save(self, copy: Copy) -> None:
        """Makes the file anew. Raises OSError when the disk refuses."""
        await asyncio.to_thread(self._file.begin)
        for start in range(0, max(len(copy.records), 1), _SLICE):
            part = copy.records[start : start + _SLICE]
            line = slice_line([encoded(record) for record in part], 0, last=start + _SLICE >= len(copy.records))
            await asyncio.to_thread(self._file.add, line)
        await asyncio.to_thread(self._file.add, _step([], copy.revision, copy.confirmed_at))
        await asyncio.to_thread(self._file.finish)
        self._whole, self._grown = False, 0

    def edited(self) -> None:
        """The table changed: its copy is due."""
        self._edited.set()

    async def keep(self, table: Table) -> None:
        """Writes the table's copy when it is due, until cancelled. A full disk is told in the log and tried again."""
        while True:
            try:
                async with asyncio.timeout(self._refresh_s):
                    await self._edited.wait()
            except TimeoutError:
                pass
            self._edited.clear()
            rest_s = self._every_s
            if table.confirmed_at:
                rest_s = max(rest_s, await self._write(table))
            await asyncio.sleep(rest_s)

    async def _write(self, table: Table) -> float:
        """Writes what is due; returns how long to rest at least."""
        started = asyncio.get_running_loop().time()
        changes = table.take_changes()  # no await from here until all that is written was read
        whole = self._whole or changes is None or self._grown > max(_GROWN, table.size())
        try:
            if whole or changes is None:
                self._whole = True
                await self.save(Copy(table.records(), table.revision, table.confirmed_at))
                return _REST * (asyncio.get_running_loop().time() - started)
            self._grown += len(changes) + 1
            await asyncio.to_thread(self._file.grow, _step(changes, table.revision, table.confirmed_at))
        except OSError as fault:
            self._whole = True
            log.warning("the snapshot could not be written to disk: %s", fault.strerror)
        return 0.0


def _step(changes: list[Change], revision: int, confirmed_at: float) -> bytes:
    """What changed, and what was confirmed since."""
    plain = {"changes": [encode_change(each) for each in changes], "revision": revision, "confirmed_at": confirmed_at}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def _read(frames: Iterable[bytes]) -> Copy:
    """The copy that the frames tell. Raises ValueError when they end before the first list does."""
    held: dict[tuple[str, str], Record] = {}
    step: dict[str, Any] | None = None
    for frame in frames:
        if frame.startswith(START):
            held |= {(kind_of(record), key_of(record)): record for record in read_slice(frame).records}
            continue
        step = json.loads(frame)
        for change in map(decode_change, step["changes"]):
            held.pop((change.kind, change.key), None)
            if change.record is not None:
                held[change.kind, change.key] = change.record
    if step is None:
        raise ValueError("the list is not whole")
    return Copy(list(held.values()), int(step["revision"]), float(step["confirmed_at"]))
