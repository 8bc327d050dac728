"""The job's output: stdout and stderr as they came, in output.log, and when each part came, in output.idx.

The index holds one record of 16 bytes a moment: seconds since the epoch (double) and the offset in
output.log of the first byte that came then (64 bits), both big-endian.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Final

from .clock import now
from .waiting import readable

INDEX_RECORD: Final = struct.Struct("!dQ")
_MOMENT_S: Final = 0.1
"""Output closer together than this shares one index record."""
_CHUNK: Final = 64 * 1024
_PIPE_BYTES: Final = 1024 * 1024


class Output:
    """Copies one pipe to the log until every writer closed it; `dropped` counts the bytes over the limit."""

    def __init__(self, job_dir: Path, limit_bytes: int) -> None:
        self._log = os.open(job_dir / "output.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._index = os.open(job_dir / "output.idx", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._room = limit_bytes
        self._written = 0
        self._last_moment = 0.0
        self.dropped = 0
        self._source, self.job_end = os.pipe()
        os.set_blocking(self._source, False)
        with suppress(OSError):  # over the machine's limit for pipes: the usual 64 KiB will do
            fcntl.fcntl(self._source, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def started(self) -> None:
        """Closes this process's copy of the writing end: the job's processes hold the only ones now."""
        if self.job_end >= 0:
            os.close(self.job_end)
            self.job_end = -1

    async def copy(self) -> None:
        """Copies until the end of the pipe. Over the limit it reads on and drops, so that no writer ever blocks."""
        while True:
            await readable(self._source)
            try:
                chunk = os.read(self._source, _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                return
            self._keep(chunk)
            await asyncio.sleep(0)  # a job that never stops printing must not starve its sessions

    def close(self) -> None:
        """Lets go of the files and the pipe."""
        self.started()
        for descriptor in (self._source, self._log, self._index):
            os.close(descriptor)

    def _keep(self, chunk: bytes) -> None:
        kept = chunk[: self._room]
        self.dropped += len(chunk) - len(kept)
        if not kept:
            return
        moment = now()
        if abs(moment - self._last_moment) >= _MOMENT_S:
            os.write(self._index, INDEX_RECORD.pack(moment, self._written))
            self._last_moment = moment
        self._write(kept)

    def _write(self, kept: bytes) -> None:
        try:
            written = os.write(self._log, kept)
        except OSError:
            written = 0  # the disk is full: the job goes on, its output is lost and counted
        self.dropped += len(kept) - written
        self._written += written
        self._room -= written
