"""The access log: one JSON line for each visit, at its end, in files that are rotated by size.

It says who came, from where, through which entry, how long, how many bytes, and why it ended; never a
path, a header, a payload or a secret. State: lines that are not written yet. They are written in a thread,
so that a slow disk holds up no visit; more than LINES_LIMIT of them wait for nobody, and the file says
how many were lost.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from gateway.wire import journal

log = logging.getLogger(__name__)

LINES_LIMIT: Final = 20_000
FILE_BYTES: Final = 16 * 1024 * 1024
FILES: Final = 5
"""The file that is written and its predecessors, `.1` the youngest."""
WRITE_EVERY_S: Final = 0.5


class AccessLog:
    """The access log of one process."""

    def __init__(self, path: Path, *, file_bytes: int = FILE_BYTES, files: int = FILES) -> None:
        """`path` is the file that is written; its folder is made when there is none."""
        self._path = path
        self._file_bytes = file_bytes
        self._files = files
        self._waiting: deque[journal.Ended] = deque()
        self._lost = 0

    def ended(self, visit: journal.Ended) -> None:
        """A visit has ended: its line is due. Does not wait."""
        if len(self._waiting) >= LINES_LIMIT:
            self._lost += 1
        else:
            self._waiting.append(visit)

    async def keep(self) -> None:
        """Writes what is due, until cancelled; then what is left."""
        try:
            while True:
                await asyncio.sleep(WRITE_EVERY_S)
                if self._waiting:
                    await asyncio.to_thread(self.write)
        finally:
            self.write()

    def write(self) -> None:
        """Writes every line that waits. A disk that refuses is told in the log, and costs these lines."""
        visits = [self._waiting.popleft() for _ in range(len(self._waiting))]
        lost, self._lost = self._lost, 0
        lines = [_line(visit) for visit in visits] + [json.dumps({"lost": lost})] * bool(lost)
        if not lines:
            return
        try:
            self._append("".join(f"{line}\n" for line in lines).encode())
        except OSError as fault:
            log.warning("%d lines of the access log could not be written: %s", len(lines), fault.strerror)

    def _append(self, text: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(text)
            size = file.tell()
        if size >= self._file_bytes:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(self._files - 1, 0, -1):
            younger = self._path if number == 1 else self._numbered(number - 1)
            if younger.exists():
                younger.replace(self._numbered(number))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


_encode: Final = json.JSONEncoder(ensure_ascii=False).encode
"""As json.dumps, which would make an encoder for each line."""


def _line(visit: journal.Ended) -> str:
    visitor, entry = visit.admission.visitor, visit.admission.entry
    plain = {
        "since": _instant(visit.since),
        "ended": _instant(visit.since + visit.seconds),
        "visit": visit.visit_id,
        "entry": entry.id,
        "entry_name": entry.name,
        "job": entry.job_id,
        "user": visitor.user_id,
        "user_name": visitor.name or None,
        "via": str(visitor.via),
        "protocol": visit.protocol,
        "address": visit.address,
        "seconds": round(visit.seconds, 3),
        "bytes_in": visit.inward,
        "bytes_out": visit.outward,
        "end": str(visit.reason),
    }
    return _encode(plain)


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
