"""Where the local bridge keeps things: one directory a job, which neither the job nor control can write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_JOB_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_HOME: Final = re.compile(r"home:([a-z][a-z0-9_-]{0,31})@local")


@dataclass(frozen=True, slots=True)
class Places:
    """The data directory's parts that are the bridge's."""

    data_dir: Path

    @property
    def jobs(self) -> Path:
        """One directory a job."""
        return self.data_dir / "bridge" / "jobs"

    @property
    def homes(self) -> Path:
        """One directory a person."""
        return self.data_dir / "homes"

    def home_visit(self, person: str) -> Path:
        """The directory of whoever visits a home without a job."""
        return self.data_dir / "bridge" / "homes" / person

    @property
    def apps(self) -> Path:
        """What apps need beside the machine's own programs."""
        return self.data_dir / "apps"

    def is_id(self, job_id: str) -> bool:
        """Whether this can be a job's id."""
        return _JOB_ID.fullmatch(job_id) is not None

    def job(self, job_id: str) -> Path:
        """The job's directory. Raises ValueError for what cannot be a job's id."""
        if not self.is_id(job_id):
            raise ValueError(f"{job_id[:80]!r} is not the id of a job")
        return self.jobs / job_id

    def person(self, subject: str) -> str:
        """Whose home a subject names. Raises ValueError for what names no home here."""
        found = _HOME.fullmatch(subject)
        if found is None:
            raise ValueError(f"{subject[:80]!r} is not a home here")
        return found[1]

    def known(self) -> list[str]:
        """The ids of all jobs that have a directory."""
        return sorted(path.name for path in self.jobs.iterdir() if self.is_id(path.name))

    def prepare(self) -> None:
        """Makes the directories. Homes are passed through by their owners and listed by nobody."""
        self.jobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.jobs.parent.chmod(0o700)
        for directory, mode in ((self.homes, 0o711), (self.apps, 0o755)):
            directory.mkdir(exist_ok=True)
            directory.chmod(mode)
