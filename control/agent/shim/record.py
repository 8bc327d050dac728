"""What the shim writes down about its job: status.json, replaced as a whole, and events.jsonl, appended.

Both lie where the job cannot write. Whoever reads status.json sees one true state or the one before,
never half of it.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from . import kernel
from .clock import now

STATUS_VERSION: Final = 1
_TICK_S: Final = 1e-3


class Record:
    """The job's state as last written. `fields` are those of status.json."""

    def __init__(self, job_dir: Path, job: str) -> None:
        self._dir = job_dir
        self._last_event = 0.0
        self.fields: dict[str, Any] = {
            "v": STATUS_VERSION,
            "job": job,
            "state": "starting",
            "shim": {"pid": os.getpid(), "start_ticks": kernel.start_ticks(os.getpid()), "boot": kernel.boot_id()},
            "keepers": [],
            "node": socket.gethostname(),
            "started_at": None,
            "ended_at": None,
            "exit_code": None,
            "signal": None,
            "cause": None,
            "detail": "",
        }

    def write(self, **changes: Any) -> bool:
        """Changes some fields and puts the new status in the old one's place; False when the disk takes nothing."""
        self.fields |= changes
        try:
            replace(self._dir / "status.json", json.dumps(self.fields).encode())
        except OSError:
            return False
        return True

    def keep(self, pid: int) -> None:
        """Notes a process that must not outlive the job, so that a successor can end it when the shim could not."""
        self.fields["keepers"].append({"pid": pid, "start_ticks": kernel.start_ticks(pid)})

    def event(self, kind: str, reason: str, message: str) -> None:
        """Appends one event, later than the one before.

        `kind` is Normal or Warning, `reason` one word for programs, `message` a sentence for people.
        """
        self._last_event = max(now(), self._last_event + _TICK_S)
        line = json.dumps({"at": self._last_event, "kind": kind, "reason": reason, "message": message}) + "\n"
        with suppress(OSError), (self._dir / "events.jsonl").open("ab") as file:  # a full disk ends no job
            file.write(line.encode())


def words_of(fault: BaseException) -> str:
    """A fault in its own words, without the number that Python puts before them."""
    return (fault.strerror if isinstance(fault, OSError) else None) or str(fault) or type(fault).__name__


def replace(path: Path, content: bytes) -> None:
    """Writes a file so that it holds the old or the new content at every moment, a power cut included."""
    aside = path.with_name(path.name + ".new")
    with aside.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
