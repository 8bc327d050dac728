"""One supervisor a data directory, and no new workers while old ones still drain.

Two files in `<data>/run`, locked with flock(2): `supervisor.lock` is held by the supervisor alone;
`workers.lock` is inherited by every worker and so held until the last of them is gone, even when the
supervisor was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import signal
import time
from pathlib import Path
from typing import Final

SUPERVISOR_LOCK: Final = "supervisor.lock"
WORKERS_LOCK: Final = "workers.lock"
_POLL_S: Final = 0.05
_LOOKS: Final = 5
"""`is_supervised` holds the lock for a moment to see whether it can: that is no other supervisor."""
_log = logging.getLogger("starlight.supervisor")


class HeldError(RuntimeError):
    """Another supervisor runs on this data directory."""


def hold_supervisor_lock(run_dir: Path) -> int:
    """The held lock's descriptor, to be kept open. Raises HeldError when another supervisor has it."""
    descriptor = _open(run_dir / SUPERVISOR_LOCK)
    for _ in range(_LOOKS):
        if _try_lock(descriptor):
            return descriptor
        time.sleep(_POLL_S)
    os.close(descriptor)
    raise HeldError(
        f"Starlight already runs on {run_dir.parent}{_pid_hint(run_dir)}. Stop it with `starlight down`, "
        "or give this one a data directory and ports of its own (STARLIGHT_DATA_DIR)"
    )


def is_supervised(run_dir: Path) -> bool:
    """Whether a supervisor holds the lock now."""
    if not (run_dir / SUPERVISOR_LOCK).exists():
        return False
    descriptor = _open(run_dir / SUPERVISOR_LOCK)
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


async def hold_workers_lock(run_dir: Path, *, patience_s: float) -> int:
    """The lock's descriptor, for workers to inherit, once the workers of a killed supervisor are gone.

    They end by themselves when their lifeline breaks; one that has not within `patience_s` is killed.
    """
    path = run_dir / WORKERS_LOCK
    descriptor = _open(path)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    if not _try_lock(descriptor):
        _log.info("waiting for the workers of an earlier start to end")
        while not _try_lock(descriptor):
            if loop.time() > deadline:
                _kill_holders(path)
            await asyncio.sleep(_POLL_S)
    os.set_inheritable(descriptor, True)
    return descriptor


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pid_hint(run_dir: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        return f" (pid {int((run_dir / 'supervisor.pid').read_text())})"
    return ""


def _kill_holders(path: Path) -> None:
    wanted = path.stat()
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile, or is another user's
            if any(os.path.samestat(link.stat(), wanted) for link in (process / "fd").iterdir()):
                _log.warning("killing pid %s, which an earlier start left behind", process.name)
                os.kill(int(process.name), signal.SIGKILL)
