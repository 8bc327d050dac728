"""A job's log: the bytes that it wrote, read where they lie through descriptors that the cluster lends.

The log only grows. Beside it lies an index of times; its layout is told in `agent/shim/output.py`.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from control.actions.context import Context, Person
from control.actions.rights import visible_job
from control.domain.errors import Code, ProblemError
from control.domain.jobs.states import ENDED, State

CHUNK_BYTES: Final = 256 * 1024
_INDEX_RECORD: Final = struct.Struct("!dQ")
_INDEX_BYTES: Final = 64 * 1024 * _INDEX_RECORD.size
"""Of a longer index the last part is read: more moments than a page shows anyhow."""
_NOT_YET: Final = frozenset({State.QUEUED, State.CREATING})


@dataclass(frozen=True, slots=True)
class Moment:
    """The byte at `offset` and those after it came at `at`."""

    offset: int
    at: float


class JobLog:
    """An open log. Without descriptors it is the empty log of a job that has not started."""

    def __init__(self, descriptors: tuple[int, int] | None) -> None:
        self._descriptors = descriptors

    @property
    def is_there(self) -> bool:
        """Whether the job has begun to have a log."""
        return self._descriptors is not None

    @property
    def length(self) -> int:
        """Bytes written so far."""
        return 0 if self._descriptors is None else os.fstat(self._descriptors[0]).st_size

    def start_of(self, wish: int, length: int) -> int:
        """The offset meant by `from`: negative counts from the end, past the end is the end."""
        return max(0, length + wish) if wish < 0 else min(wish, length)

    async def read(self, offset: int, limit: int) -> bytes:
        """Up to `limit` bytes (at most CHUNK_BYTES) from `offset`; empty at the end."""
        if self._descriptors is None:
            return b""
        return await asyncio.to_thread(os.pread, self._descriptors[0], min(limit, CHUNK_BYTES), offset)

    async def moments(self, first: int, last: int) -> list[Moment]:
        """When the bytes from `first` up to `last` came; the first moment covers `first` itself."""
        if self._descriptors is None:
            return []
        plain = await asyncio.to_thread(_read_tail, self._descriptors[1])
        found = [Moment(offset, at) for at, offset in _INDEX_RECORD.iter_unpack(plain)]
        before = [moment for moment in found if moment.offset <= first][-1:]
        return before + [moment for moment in found if first < moment.offset < last]

    def close(self) -> None:
        """Gives the descriptors back."""
        for descriptor in self._descriptors or ():
            os.close(descriptor)
        self._descriptors = None


@asynccontextmanager
async def open_log(ctx: Context, who: Person, job_id: str) -> AsyncIterator[JobLog]:
    """The log of a job that `who` may see; empty before the job's start.

    Raises ProblemError NOT_FOUND, LOG_UNAVAILABLE or CLUSTER_UNHEALTHY.
    """
    async with ctx.db.read() as session:
        job = await visible_job(session, who, job_id)
    try:
        log = JobLog(await ctx.runtimes[job.cluster].open_log(job_id))
    except ProblemError as refusal:
        if refusal.problem.code is not Code.LOG_UNAVAILABLE or job.state not in _NOT_YET:
            raise
        log = JobLog(None)
    try:
        yield log
    finally:
        log.close()


async def has_ended(ctx: Context, who: Person, job_id: str) -> bool:
    """Whether nothing can be written any more."""
    async with ctx.db.read() as session:
        return (await visible_job(session, who, job_id)).state in ENDED


def _read_tail(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    whole = size - size % _INDEX_RECORD.size
    first = max(0, whole - _INDEX_BYTES)
    return os.pread(descriptor, whole - first, first)
