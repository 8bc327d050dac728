"""One worker: started, watched, started again when it crashes, and drained when told.

State: the process that runs now, and whether it said that it serves. A worker that keeps crashing is
restarted ever more slowly (0.1 s doubling to 10 s); one that stayed up for 30 s begins anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_FIRST_DELAY_S: Final = 0.1
_MOST_DELAY_S: Final = 10.0
_HEALTHY_S: Final = 30.0
_log = logging.getLogger("starlight.supervisor")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a worker is started. `environment` is the whole of it and may hold secrets."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    environment: dict[str, str] = field(repr=False)


class Backoff:
    """How long to wait before the next start."""

    def __init__(self) -> None:
        self._delay_s = 0.0

    def after(self, lived_s: float) -> float:
        """Seconds to wait after a process that lived `lived_s` seconds."""
        if lived_s >= _HEALTHY_S:
            self._delay_s = 0.0
        self._delay_s = min(max(self._delay_s * 2, _FIRST_DELAY_S), _MOST_DELAY_S)
        return self._delay_s


class Worker:
    """Runs one recipe for as long as it is not told to stop."""

    def __init__(self, recipe: Recipe, run_dir: Path, inherited: Sequence[int]) -> None:
        self.name = recipe.name
        self.ready = asyncio.Event()
        self._recipe = recipe
        self._pid_file = run_dir / f"{recipe.name}.pid"
        self._inherited = inherited
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        return self._process.pid if self._process else None

    async def run(self) -> None:
        """Keeps the process running until `stop`; returns when it is gone."""
        backoff = Backoff()
        while not self._stopping.is_set():
            delay_s = backoff.after(await self._live_once())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._stopping.wait()

    def stop(self) -> None:
        """Tells the process to drain and end, and that no other follows."""
        self._stopping.set()
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Ends a process that did not drain in time."""
        if self._process:
            _log.warning("%s did not end in time: killed", self.name)
        self._send(signal.SIGKILL)

    async def _live_once(self) -> float:
        """Runs the process once, to its end; the seconds that it lived."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            self._process = self._spawn()
        except OSError as fault:
            _log.error("%s cannot be started: %s", self.name, fault)
            return 0.0
        _log.info("%s started, pid %d", self.name, self._process.pid)
        try:
            self._pid_file.write_text(f"{self._process.pid}\n")
            await _ended(self._process.pid)
        except BaseException:
            self._process.kill()
            raise
        finally:
            self.ready.clear()
            self._pid_file.unlink(missing_ok=True)
            status = self._process.wait()
            self._process = None
        lived_s = clock() - began
        if not self._stopping.is_set():
            _log.warning("%s ended after %.1f s: %s; starting it again", self.name, lived_s, _how(status))
        return lived_s

    def _spawn(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self._recipe.command,
            cwd=self._recipe.cwd,
            env=self._recipe.environment,
            stdin=subprocess.DEVNULL,
            pass_fds=self._inherited,
            start_new_session=True,  # Ctrl-C in the terminal is for the supervisor: it drains the workers
        )

    def _send(self, number: signal.Signals) -> None:
        # Popen has not reaped it, so the pid cannot have become another's.
        if self._process and self._process.returncode is None:
            self._process.send_signal(number)


async def _ended(pid: int) -> None:
    # A pidfd is readable once its process has ended: no thread and no SIGCHLD handler a worker.
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    descriptor = os.pidfd_open(pid)

    def wake() -> None:
        if not ended.done():
            ended.set_result(None)

    loop.add_reader(descriptor, wake)
    try:
        await ended
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"
