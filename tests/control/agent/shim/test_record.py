"""What the shim writes down."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from control.agent.shim import record
from control.agent.shim.record import Record, replace, words_of


def test_the_status_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """It names the shim so that a successor can tell whether it lives."""
    kept = Record(tmp_path, "job-1")
    kept.keep(os.getpid())
    kept.write(state="running", started_at=1.0)
    status = json.loads((tmp_path / "status.json").read_bytes())
    assert (status["job"], status["state"], status["started_at"], status["ended_at"]) == ("job-1", "running", 1.0, None)
    assert status["shim"]["pid"] == status["keepers"][0]["pid"] == os.getpid()
    assert status["shim"]["start_ticks"] > 0
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


def test_events_are_appended_each_later_than_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands still, or goes back, makes no two events of one instant."""
    times = iter([10.0, 10.0, 5.0])
    monkeypatch.setattr(record, "now", lambda: next(times))
    kept = Record(tmp_path, "job-1")
    for reason in ("One", "Two", "Three"):
        kept.event("Normal", reason, "said")
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["reason"] for event in events] == ["One", "Two", "Three"]
    assert events[0]["at"] < events[1]["at"] < events[2]["at"]


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    """The new content is made aside first."""
    replace(tmp_path / "status.json", b"old")
    (tmp_path / "status.json.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace(tmp_path / "status.json", b"new")
    assert (tmp_path / "status.json").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (FileNotFoundError(2, "No such file"), "No such file"),
        (OSError("plain"), "plain"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_a_fault_speaks_in_its_own_words(fault: BaseException, words: str) -> None:
    """People get no errno."""
    assert words_of(fault) == words
