"""What is true of a job whose shim wrote its last word, or could not."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from control.agent.shim import kernel
from control.agent.shim.record import Record
from control.bridge.truth import fitted, is_alive, newest_events, observe, settle
from gateway.contract.bridge import Reply, encode_reply


def dead() -> dict[str, Any]:
    """A process that is gone."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return {"pid": process.pid, "start_ticks": 12345, "boot": kernel.boot_id()}


def written(job_dir: Path, **fields: Any) -> None:
    """A status whose shim is this very process, unless told otherwise."""
    Record(job_dir, "job-1").write(**fields)


def test_nothing_started_is_nothing_known(tmp_path: Path) -> None:
    """No status, no report."""
    assert observe(tmp_path, 5.0) is None


def test_a_living_shims_word_is_taken(tmp_path: Path) -> None:
    """Its state is reported as written, and nothing of its own housekeeping."""
    written(tmp_path, state="running", started_at=2.0)
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert (report["state"], report["started_at"]) == ("running", 2.0)
    assert not {"shim", "keepers", "v"} & report.keys()


@pytest.mark.parametrize("state", ["starting", "running", "suspended"])
def test_a_shim_that_died_before_the_end_is_a_lost_job(tmp_path: Path, state: str) -> None:
    """Whatever it said last: never running, and that is written down once."""
    written(tmp_path, state=state, shim=dead())
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert (report["state"], report["cause"], report["ended_at"]) == ("lost", "shim_died", 5.0)
    again = observe(tmp_path, 9.0)
    assert again == report


def test_a_full_disk_keeps_no_lost_job_from_being_told(tmp_path: Path) -> None:
    """One job that cannot be written down must not take the answer about all others with it."""
    written(tmp_path, state="running", shim=dead())
    (tmp_path / "status.json.new").mkdir()  # what is written aside cannot be written
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert report["state"] == "lost"
    (tmp_path / "status.json.new").rmdir()
    observe(tmp_path, 6.0)
    assert json.loads((tmp_path / "status.json").read_bytes())["state"] == "lost"


def test_a_job_that_ended_needs_no_shim(tmp_path: Path) -> None:
    """Its outcome stays."""
    written(tmp_path, state="ended", cause="exit", exit_code=0, ended_at=3.0, shim=dead())
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert (report["state"], report["exit_code"]) == ("ended", 0)


def test_what_a_lost_job_left_is_ended(tmp_path: Path) -> None:
    """Its keepers are killed, but not a stranger who got their number."""
    with subprocess.Popen(["sleep", "1000"]) as left, subprocess.Popen(["sleep", "1000"]) as stranger:
        keepers = [
            {"pid": left.pid, "start_ticks": kernel.start_ticks(left.pid)},
            {"pid": stranger.pid, "start_ticks": 1},
        ]
        written(tmp_path, state="running", shim=dead(), keepers=keepers)
        (tmp_path / "netns").touch()
        settle(tmp_path, 5.0)
        assert left.wait(10) == -9
        assert stranger.poll() is None
        stranger.kill()
    assert not (tmp_path / "netns").exists()


def test_another_boots_processes_are_gone(tmp_path: Path) -> None:
    """The same number after a restart of the machine is another process."""
    ourselves = {"pid": os.getpid(), "start_ticks": kernel.start_ticks(os.getpid())}
    assert is_alive({**ourselves, "boot": kernel.boot_id()})
    assert not is_alive({**ourselves, "boot": "another"})
    written(tmp_path, state="running", shim={**ourselves, "boot": "another"})
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert report["detail"] == "the machine was started anew"


def test_the_newest_events_fit_a_message(tmp_path: Path) -> None:
    """Bounded in number and size; a line cut short is skipped."""
    record = Record(tmp_path, "job-1")
    for number in range(500):
        record.event("Normal", f"Event{number}", "x" * 1000)
    with (tmp_path / "events.jsonl").open("a") as file:
        file.write('{"at": 1, "kind"')
    events = newest_events(tmp_path)
    assert [event["reason"] for event in events] == [f"Event{number}" for number in range(488, 500)]
    assert len(json.dumps(events)) < 5000


def test_a_damaged_status_is_a_lost_jobs(tmp_path: Path) -> None:
    """It is not taken for a job that never was, and hinders no other."""
    (tmp_path / "status.json").write_text("{half")
    report = observe(tmp_path, 5.0)
    assert report is not None
    assert (report["state"], report["detail"]) == ("lost", "its record is damaged")


def test_twenty_talkative_jobs_fit_one_message() -> None:
    """The oldest events give way."""
    event = {"at": 1.0, "kind": "Normal", "reason": "Said", "message": "x" * 300}
    few = fitted({"job-1": {"events": [event] * 12}})
    many = fitted({f"job-{number}": {"detail": "y" * 300, "events": [event] * 12} for number in range(20)})
    assert len(few["job-1"]["events"]) == 12
    assert {len(report["events"]) for report in many.values()} == {6}
    assert len(encode_reply(Reply({"jobs": many}))) < 64 * 1024
