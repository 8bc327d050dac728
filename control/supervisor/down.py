"""`starlight down`: ends the platform that runs on a data directory, and its jobs when asked.

The supervisor's lock says whether one runs; the pid file only says which. Jobs outlive the platform, so
ending them needs the bridge: it is started alone, asked to stop each job, and ended again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from control.clock import now
from control.config import Settings
from control.supervisor.locks import is_supervised
from control.supervisor.up import bridge_alone
from gateway.contract.bridge import Call, Verb, decode_reply, encode_call
from gateway.contract.calls import call

_STOP_S: Final = 15.0
_KILL_S: Final = 5.0
_POLL_S: Final = 0.05
_CALL_S: Final = 20.0
_GRACE_S: Final = 5.0
_JOBS_END_S: Final = 30.0
_COUNT_S: Final = 5.0
_PROBED_AT_ONCE: Final = 20
_LIVE_STATES: Final = ("starting", "running", "suspended")
_log = logging.getLogger("starlight.supervisor")


async def down(settings: Settings) -> Sequence[str] | None:
    """Drains and ends the platform; the jobs that live on, None when no platform ran.

    Raises TimeoutError when it cannot be ended.
    """
    if not is_supervised(settings.run_dir):
        return None
    living = await _living(settings)
    pid = int((settings.run_dir / "supervisor.pid").read_text())
    os.kill(pid, signal.SIGTERM)
    if not await _ended(settings.run_dir, _STOP_S):
        _log.warning("the supervisor (pid %d) did not drain in time: killed", pid)
        os.kill(pid, signal.SIGKILL)
        if not await _ended(settings.run_dir, _KILL_S):
            raise TimeoutError(f"the supervisor (pid {pid}) cannot be ended")
    return living


async def end_jobs(settings: Settings, environ: Mapping[str, str]) -> int:
    """Ends every job that still lives, the platform being down; how many there were.

    Raises TimeoutError when a job does not end, and what `up` raises.
    """
    jobs = _known(settings)
    if not jobs:
        return 0
    async with bridge_alone(settings, environ):
        path = str(settings.run_dir / "bridge-local.sock")
        live = await _live(path, jobs)
        for job in live:
            _log.info("ending job %s", job)
            await _ask(path, Verb.STOP, job, {"grace_s": _GRACE_S})
        await _all_ended(path, live)
    return len(live)


async def _living(settings: Settings) -> Sequence[str]:
    """The jobs that live, as the running bridge knows; none when it does not answer, for a stop must not hang on it."""
    try:
        async with asyncio.timeout(_COUNT_S):
            return await _live(str(settings.run_dir / "bridge-local.sock"), _known(settings))
    except (OSError, ValueError) as fault:
        _log.info("how many jobs live is not known: %s", fault)
        return ()


def _known(settings: Settings) -> list[str]:
    folder = settings.data_dir / "bridge" / "jobs"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


async def _ended(run_dir: Path, within_s: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while is_supervised(run_dir):  # noqa: ASYNC110 - another process's lock has no event
                await asyncio.sleep(_POLL_S)
            return True
    return False


async def _all_ended(path: str, jobs: Sequence[str]) -> None:
    try:
        async with asyncio.timeout(_JOBS_END_S):
            while live := await _live(path, jobs):
                jobs = live
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise TimeoutError(f"jobs that did not end: {', '.join(jobs)}") from None


async def _live(path: str, jobs: Sequence[str]) -> list[str]:
    found = []
    for start in range(0, len(jobs), _PROBED_AT_ONCE):
        batch = list(jobs[start : start + _PROBED_AT_ONCE])
        result = await _ask(path, Verb.PROBE, batch[0], {"jobs": batch})
        found += [job for job, seen in result.get("jobs", {}).items() if seen.get("state") in _LIVE_STATES]
    return found


async def _ask(path: str, verb: Verb, subject: str, args: dict[str, Any]) -> dict[str, Any]:
    message = encode_call(Call(verb, subject, args, expires_at=now() + _CALL_S))
    answer, _ = await call(path, message, deadline_s=_CALL_S)
    reply = decode_reply(answer)
    if reply.fault is not None:
        raise OSError(f"the bridge would not {verb} {subject}: {reply.fault} {reply.detail}")
    return reply.result
