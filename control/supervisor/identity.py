"""Who runs as whom: uids for control, the gateways and people's jobs.

Started as root, control and the gateways get uids of their own above a base, and each person's jobs one
above `base + 1000`. The base is 700000000 where the machine's uid map holds it, else 60000 (a container
that maps 65536 ids). Started as a normal user, or as a root that owns no other uid, all run as that user.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BASES: Final = (700_000_000, 60_000)
_JOBS_OFFSET: Final = 1000
_LEAST_PEOPLE: Final = 1000
"""A base is good when at least this many people get a uid above it."""
_MAPS: Final = (Path("/proc/self/uid_map"), Path("/proc/self/gid_map"))


@dataclass(frozen=True, slots=True)
class Identities:
    """The uids in use; each is its own gid too. `job_uid_base` None: jobs run as the starter."""

    control_uid: int
    gateway_uid: int
    job_uid_base: int | None

    @property
    def separate(self) -> bool:
        """Whether the processes run under uids of their own."""
        return self.job_uid_base is not None

    def give(self, path: Path, uid: int) -> None:
        """Makes `path` that uid's, when the uids differ at all. A symbolic link is not followed."""
        if self.separate:
            os.chown(path, uid, uid, follow_symlinks=False)

    def share(self, path: Path) -> None:
        """Lets control and the gateways, and only them, use the socket at `path`."""
        if self.separate:
            os.chown(path, self.control_uid, self.gateway_uid, follow_symlinks=False)
            path.chmod(0o660)


def identities(wanted_base: int | None, *, euid: int | None = None, maps: tuple[Path, ...] = _MAPS) -> Identities:
    """The identities for this start. Raises ValueError when `wanted_base` is not usable here."""
    own = os.geteuid() if euid is None else euid
    if own != 0:
        return Identities(own, own, None)
    bases = BASES if wanted_base is None else (wanted_base,)
    for base in bases:
        if base >= _JOBS_OFFSET and all(_holds(path, base + 1, _JOBS_OFFSET + _LEAST_PEOPLE) for path in maps):
            return Identities(base + 1, base + 2, base + _JOBS_OFFSET)
    if wanted_base is not None:
        raise ValueError(
            f"STARLIGHT_UID_BASE={wanted_base}: this machine's /proc/self/uid_map and gid_map do not hold "
            f"{_JOBS_OFFSET + _LEAST_PEOPLE} ids from {wanted_base + 1} on"
        )
    return Identities(own, own, None)


def _holds(path: Path, first: int, count: int) -> bool:
    for line in path.read_text().splitlines():
        inside, _, length = map(int, line.split())
        if inside <= first and first + count <= inside + length:
            return True
    return False
