"""A job's log through lent descriptors."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from control.actions.context import Context, Person
from control.actions.jobs import submit
from control.actions.logs import CHUNK_BYTES, JobLog, Moment, has_ended, open_log
from control.actions.submission import Wish
from control.domain.errors import Code
from control.domain.jobs.states import State
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk


@pytest.mark.parametrize(
    ("wish", "length", "start"), [(0, 10, 0), (4, 10, 4), (99, 10, 10), (-3, 10, 7), (-99, 10, 0), (-1, 0, 0)]
)
def test_from_counts_from_either_end(wish: int, length: int, start: int) -> None:
    """And never leaves the log."""
    assert JobLog(None).start_of(wish, length) == start


async def test_a_log_that_is_not_there_yet_is_empty() -> None:
    """Closing it twice does no harm."""
    log = JobLog(None)
    assert (log.is_there, log.length, await log.read(0, 9), await log.moments(0, 9)) == (False, 0, b"", [])
    log.close()
    log.close()


async def test_bytes_and_moments_are_read_where_they_lie(tmp_path: Path) -> None:
    """A piece at a time, the moment that covers the first byte included, a half-written record left out."""
    (tmp_path / "log").write_bytes(b"x" * (CHUNK_BYTES + 5))
    index = b"".join(struct.pack("!dQ", at, offset) for at, offset in ((1.0, 0), (2.0, 10), (3.0, 20)))
    (tmp_path / "idx").write_bytes(index + b"half")
    descriptors = os.open(tmp_path / "log", os.O_RDONLY), os.open(tmp_path / "idx", os.O_RDONLY)
    log = JobLog(descriptors)
    assert (log.is_there, log.length) == (True, CHUNK_BYTES + 5)
    assert len(await log.read(0, 10 * CHUNK_BYTES)) == CHUNK_BYTES
    assert len(await log.read(CHUNK_BYTES, 10 * CHUNK_BYTES)) == 5
    assert await log.moments(15, 21) == [Moment(10, 2.0), Moment(20, 3.0)]
    log.close()
    for descriptor in descriptors:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


async def test_a_log_is_lent_to_who_may_see_the_job(desk: Desk, ctx: Context, alice: Person, bob: Person) -> None:
    """Empty before the start, an error when a started job has none."""
    seen, _ = await submit(ctx, alice, Wish(command=("true",)))
    job = seen.job.id
    async with open_log(ctx, alice, job) as log:
        assert not log.is_there
    with refused(Code.NOT_FOUND):
        async with open_log(ctx, bob, job):
            pass
    await desk.move(job, State.CREATING)
    await desk.move(job, State.RUNNING)
    assert not await has_ended(ctx, alice, job)
    with refused(Code.LOG_UNAVAILABLE):
        async with open_log(ctx, alice, job):
            pass
    await desk.move(job, State.FINISHED)
    assert await has_ended(ctx, alice, job)
