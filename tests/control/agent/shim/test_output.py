"""The job's output on its way to the log."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from control.agent.shim import output
from control.agent.shim.output import INDEX_RECORD, Output


async def copied(job_dir: Path, limit_bytes: int, *chunks: bytes) -> Output:
    """An output that copied these chunks, one at a time."""
    copying = Output(job_dir, limit_bytes)
    writing = os.dup(copying.job_end)
    copying.started()
    async with asyncio.TaskGroup() as group:
        group.create_task(copying.copy())
        for chunk in chunks:
            os.write(writing, chunk)
            while os.path.getsize(job_dir / "output.log") + copying.dropped < sum(
                map(len, chunks[: chunks.index(chunk) + 1])
            ):
                await asyncio.sleep(0)
        os.close(writing)
    copying.close()
    return copying


def index(job_dir: Path) -> list[tuple[float, int]]:
    """The time index."""
    return list(INDEX_RECORD.iter_unpack((job_dir / "output.idx").read_bytes()))


async def test_each_moment_has_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts close together share a record; one that comes later has its own, with the offset where it begins."""
    times = iter([100.0, 100.05, 101.0])
    monkeypatch.setattr(output, "now", lambda: next(times))
    await copied(tmp_path, 1000, b"one", b"two", b"three")
    assert (tmp_path / "output.log").read_bytes() == b"onetwothree"
    assert index(tmp_path) == [(100.0, 0), (101.0, 6)]


async def test_over_the_limit_is_dropped_and_counted(tmp_path: Path) -> None:
    """The log holds exactly what it may; the writer never waits."""
    done = await copied(tmp_path, 5, b"abc", b"defg", b"hij")
    assert (tmp_path / "output.log").read_bytes() == b"abcde"
    assert done.dropped == 5


async def test_a_full_disk_loses_output_and_nothing_else(tmp_path: Path) -> None:
    """The job goes on; what could not be written is counted."""
    os.symlink("/dev/full", tmp_path / "output.log")
    copying = Output(tmp_path, 1000)
    os.write(copying.job_end, b"lost")
    copying.started()
    await copying.copy()
    copying.close()
    assert copying.dropped == 4
