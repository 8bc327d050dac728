"""The access log: a JSON line a visit, files that rotate, and no visit that waits for a disk."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest

from gateway.wire import access_log, journal
from gateway.wire.access_log import AccessLog
from tests.gateway import world

MINE = world.admission(world.entry(17))
ENDED = journal.Ended("web-0-9", MINE, "https", "::1", 1.5, 10, 20, "withdrawn", since=world.NOW)


def test_a_visit_is_one_line_with_these_fields(tmp_path: Path) -> None:
    """Who, from where, through what, how long, how much, why it ended; for the gateway's own eyes."""
    log = AccessLog(tmp_path / "log" / "access-web-0.jsonl")
    log.ended(ENDED)
    log.write()
    path = tmp_path / "log" / "access-web-0.jsonl"
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "since": "2027-01-15T08:00:00.000Z",
        "ended": "2027-01-15T08:00:01.500Z",
        "visit": "web-0-9",
        "entry": 17,
        "entry_name": "web",
        "job": "jupyter-17",
        "user": 1,
        "user_name": "alice",
        "via": "session",
        "protocol": "https",
        "address": "::1",
        "seconds": 1.5,
        "bytes_in": 10,
        "bytes_out": 20,
        "end": "withdrawn",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_files_rotate_by_size_and_the_oldest_goes(tmp_path: Path) -> None:
    """No log fills the disk."""
    log = AccessLog(tmp_path / "a.jsonl", file_bytes=100, files=3)
    for _ in range(6):
        log.ended(ENDED)
        log.write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl.1", "a.jsonl.2"]


def test_lines_beyond_the_limit_are_counted_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk slower than the visits costs lines, never memory without end."""
    monkeypatch.setattr(access_log, "LINES_LIMIT", 2)
    log = AccessLog(tmp_path / "a.jsonl")
    for _ in range(5):
        log.ended(ENDED)
    log.write()
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert len(lines) == 3
    assert json.loads(lines[-1]) == {"lost": 3}


def test_a_disk_that_refuses_is_told_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And the next lines are tried again."""
    (tmp_path / "file").write_text("")
    log = AccessLog(tmp_path / "file" / "a.jsonl")
    log.ended(ENDED)
    log.write()
    assert "could not be written" in caplog.text


async def test_what_is_left_is_written_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are written as time goes by, and the last ones when the process ends."""
    monkeypatch.setattr(access_log, "WRITE_EVERY_S", 0.01)
    log, path = AccessLog(tmp_path / "a.jsonl"), tmp_path / "a.jsonl"
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        keeping = group.create_task(log.keep())
        log.ended(ENDED)
        while not path.exists():
            await asyncio.sleep(0.01)
        monkeypatch.setattr(access_log, "WRITE_EVERY_S", 3600)
        await asyncio.sleep(0.05)
        log.ended(ENDED)
        keeping.cancel()
    assert len(path.read_text().splitlines()) == 2
