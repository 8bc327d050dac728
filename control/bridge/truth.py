"""What is true of a job on this machine: what its shim wrote down, and whether that shim is still there.

A shim that is gone without having written the end is a lost job: whatever it left behind is ended
here, so that nothing runs of which nobody knows.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from control.agent.shim import kernel
from control.agent.shim.limits import remove_cgroups
from control.agent.shim.owners import descendants
from control.agent.shim.record import replace
from gateway.contract.bridge import MESSAGE_LIMIT

_EVENTS: Final = 12
_EVENT_BYTES: Final = 300
_DETAIL_BYTES: Final = 300
_TAIL_BYTES: Final = 16 * 1024
_REPORTED: Final = ("state", "started_at", "ended_at", "exit_code", "signal", "cause", "detail", "node")
_REPORTS_BYTES: Final = MESSAGE_LIMIT - 1024
_NOBODY: Final = {"pid": 0, "start_ticks": 0}
_RETRIES: Final = 3


def read_status(job_dir: Path) -> dict[str, Any] | None:
    """status.json as its shim wrote it, or None when no shim has come up yet. A damaged one is a lost job's."""
    try:
        status: dict[str, Any] = json.loads((job_dir / "status.json").read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return {"state": "lost", "cause": "shim_died", "detail": "its record is damaged", "shim": _NOBODY}
    return status


def observe(job_dir: Path, now: float) -> dict[str, Any] | None:
    """The job as control is told of it: state, outcome, newest events. None when nothing was started here."""
    status = settle(job_dir, now)
    if status is None:
        return None
    report = {name: status.get(name) for name in _REPORTED}
    report["detail"] = str(report["detail"])[:_DETAIL_BYTES]
    return {**report, "events": newest_events(job_dir)}


def settle(job_dir: Path, now: float) -> dict[str, Any] | None:
    """The job's status; when its shim died before the end, that is written down first and the rest is ended."""
    status = read_status(job_dir)
    for _ in range(_RETRIES):
        if status is None or status["state"] in ("ended", "lost") or is_alive(status["shim"]):
            if status is not None and status["state"] == "lost":
                remove_cgroups(job_dir)  # at the burial the last process may not have been gone yet
            return status
        # The shim may have written its last word between our two looks.
        previous, status = status, read_status(job_dir)
        if previous == status:
            break
    if status is None:
        return None
    return _bury(job_dir, status, now)


def is_alive(process: dict[str, Any]) -> bool:
    """Whether this very process lives: same pid, same start, same boot (when that was noted)."""
    if process.get("boot") not in (None, kernel.boot_id()):
        return False
    ticks = kernel.start_ticks(int(process["pid"]))
    return ticks != 0 and ticks == process["start_ticks"]


def fitted(reports: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The reports with as many of their newest events as one message holds."""
    for kept in (_EVENTS, _EVENTS // 2, _EVENTS // 4):
        shorter = {job: {**report, "events": report["events"][-kept:]} for job, report in reports.items()}
        if len(json.dumps(shorter)) < _REPORTS_BYTES:
            return shorter
    return {job: {**report, "events": []} for job, report in reports.items()}


def newest_events(job_dir: Path) -> list[dict[str, Any]]:
    """The newest events, oldest first, each of bounded size."""
    return [
        {
            "at": event["at"],
            "kind": event["kind"],
            "reason": event["reason"],
            "message": str(event["message"])[:_EVENT_BYTES],
        }
        for event in list(_events(job_dir))[-_EVENTS:]
    ]


def _events(job_dir: Path) -> Iterator[dict[str, Any]]:
    with suppress(FileNotFoundError), (job_dir / "events.jsonl").open("rb") as file:
        file.seek(0, os.SEEK_END)
        start = max(0, file.tell() - _TAIL_BYTES)
        file.seek(start)
        lines = file.read().splitlines()
        for line in lines[1:] if start else lines:
            with suppress(ValueError):  # a line cut short by a power cut
                yield json.loads(line)


def _end_all(roots: list[int]) -> None:
    """Ends the processes and all below them, the children first seen, lest they be orphaned out of sight."""
    members = {pid for root in roots for pid in descendants(root)}
    for pid in (*roots, *members):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _bury(job_dir: Path, status: dict[str, Any], now: float) -> dict[str, Any]:
    same_boot = status["shim"].get("boot") == kernel.boot_id()
    if same_boot:
        _end_all([int(process["pid"]) for process in status.get("keepers", []) if is_alive(process)])
    remove_cgroups(job_dir)
    (job_dir / "netns").unlink(missing_ok=True)  # a pasta that watches it ends with it
    (job_dir / "shim.sock").unlink(missing_ok=True)
    detail = "the process that keeps the job was killed" if same_boot else "the machine was started anew"
    status |= {"state": "lost", "cause": "shim_died", "ended_at": now, "detail": detail}
    with suppress(OSError):  # a full disk: true all the same, and written at the next look
        replace(job_dir / "status.json", json.dumps(status).encode())
    return status
