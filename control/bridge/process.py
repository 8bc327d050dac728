"""The bridge as a process: probe the machine, go on with begun starts, serve, end when told (composition root)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Final

from control.agent.shim.waiting import readable
from control.apps.environments import Environments
from control.bridge.capabilities import probe
from control.bridge.home_visits import HomeVisits
from control.bridge.launch import Launcher
from control.bridge.local import Callers, LocalBridge
from control.bridge.places import Places
from control.clock import now
from control.config import WorkerSettings
from gateway.contract.calls import call

_log = logging.getLogger(__name__)
_SUPERVISOR_S: Final = 10.0
_TRIAL_USER: Final = 0
"""The job uid of no person: their numbers begin at 1."""


async def run(settings: WorkerSettings) -> None:
    """Serves the `bridge-local` listener until SIGTERM, SIGINT or the end of the supervisor's lifeline."""
    os.umask(0o022)
    places = Places(settings.settings.data_dir)
    places.prepare()
    uid = None if settings.job_uid_base is None else settings.job_uid_base + _TRIAL_USER
    capabilities = await probe(places.data_dir, places.jobs.parent / "trial", uid)
    _log.info("isolation %s, network %s %s", capabilities.isolation, capabilities.network, capabilities.why or "")
    callers = Callers(
        launch=frozenset({0, os.getuid(), settings.control_uid}), stream=frozenset({settings.gateway_uid})
    )
    listener, _ = await _from_supervisor(settings.run_dir, {"verb": "listener", "name": settings.name})
    assert listener is not None
    async with asyncio.TaskGroup() as tasks:
        launcher = Launcher(places, capabilities, Environments(places.apps), now, tasks)
        launcher.resume()
        homes = HomeVisits(places, capabilities, settings.job_uid_base, now)
        bridge = LocalBridge(places, capabilities, launcher, homes, callers, now)
        serving = tasks.create_task(bridge.serve(listener))
        await _from_supervisor(settings.run_dir, {"verb": "ready"})
        await _told_to_end(settings.lifeline_fd)
        serving.cancel()
        launcher.leave()


async def _told_to_end(lifeline: int | None) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with asyncio.TaskGroup() as waits:
        signalled = waits.create_task(told.wait())
        orphaned = waits.create_task(readable(lifeline) if lifeline is not None else asyncio.Event().wait())
        await asyncio.wait([signalled, orphaned], return_when=asyncio.FIRST_COMPLETED)
        signalled.cancel()
        orphaned.cancel()


async def _from_supervisor(run_dir: Path, request: dict[str, str]) -> tuple[socket.socket | None, dict[str, object]]:
    message = json.dumps(request).encode()
    reply, descriptors = await call(str(run_dir / "supervisor.sock"), message, deadline_s=_SUPERVISOR_S)
    answer = json.loads(reply)
    if not answer.get("ok"):
        raise ConnectionError(f"the supervisor refused {request['verb']}: {answer.get('detail', '')}")
    return (socket.socket(fileno=descriptors[0]) if descriptors else None), answer
