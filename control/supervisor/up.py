"""`starlight up`: from settings to running workers, and down again. The composition root of the supervisor.

In order: one supervisor a data directory (lock), the data directory made whole, the workers of an earlier
start gone (lock), ports bound, workers started, "ready" told once all of them serve. SIGTERM, SIGINT or
SIGHUP drain: gateways first, control and the bridge after them; a second signal does not wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Final

from control.config import Settings
from control.supervisor import crew
from control.supervisor.crew import Ground
from control.supervisor.data import make_run_dir, prepare
from control.supervisor.desk import Desk, all_ready
from control.supervisor.identity import Identities, identities
from control.supervisor.listeners import Listeners
from control.supervisor.locks import hold_supervisor_lock, hold_workers_lock
from control.supervisor.passage import Passage, plan, program_trees, unreadable
from control.supervisor.worker import Recipe, Worker

_DRAIN_S: Final = 10.0
_FRONT_DRAIN_S: Final = 8.0
"""Gateways drain first; control answers them meanwhile, and needs little time itself."""
_OLD_WORKERS_S: Final = 12.0
_SLOW_START_S: Final = 30.0
_SAME_SIGNAL_S: Final = 1.0
"""A signal to the whole group arrives twice, once more through make: that is no second wish."""
_BEHIND: Final = ("control", "bridge-local")
_PASSED_ON: Final = ("PATH", "LANG")
_log = logging.getLogger("starlight.supervisor")


async def up(settings: Settings, environ: Mapping[str, str], tell_ready: Callable[[], None]) -> None:
    """Runs the platform until a signal ends it. `tell_ready` is called once, when all workers serve.

    Raises HeldError, PortsBusyError, ValueError or OSError, each with a sentence, when it cannot start.
    """
    who = identities(settings.uid_base)
    with ExitStack() as held:
        ground, inherited = await _prepare(settings, environ, who, held)
        listeners = Listeners(settings.host, settings.random_ports)
        held.callback(listeners.close)
        listeners.bind_ports(settings)
        listeners.bind_sockets(settings.run_dir, who)
        async with running(crew.crew(ground), ground, listeners, inherited) as workers:
            stop = _stop_signals(workers)
            async with asyncio.TaskGroup() as group:
                telling = group.create_task(_tell_when_ready(workers, tell_ready))
                await stop.wait()
                telling.cancel()
    _log.info("stopped")


@asynccontextmanager
async def bridge_alone(settings: Settings, environ: Mapping[str, str]) -> AsyncIterator[None]:
    """Runs the local bridge and nothing else, as `down --jobs` needs it. Raises what `up` raises."""
    who = identities(settings.uid_base)
    with ExitStack() as held:
        ground, inherited = await _prepare(settings, environ, who, held)
        listeners = Listeners(settings.host, settings.random_ports)
        held.callback(listeners.close)
        listeners.bind_sockets(settings.run_dir, who, ["bridge-local"])
        async with running([crew.bridge(ground)], ground, listeners, inherited):
            yield


@asynccontextmanager
async def running(
    recipes: Sequence[Recipe], ground: Ground, listeners: Listeners, inherited: Sequence[int]
) -> AsyncIterator[list[Worker]]:
    """The workers of `recipes`, served at the desk, for as long as the block runs; then drained."""
    run_dir = ground.settings.run_dir
    workers = [Worker(recipe, run_dir, inherited) for recipe in recipes]
    desk = Desk(listeners, workers, ground.who, os.geteuid())
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(desk.serve(run_dir))
        await asyncio.sleep(0)  # the desk listens before the first worker can ask
        runs = {worker.name: group.create_task(worker.run()) for worker in workers}
        try:
            yield workers
        finally:
            await _drain(workers, runs)
            serving.cancel()


async def _prepare(
    settings: Settings, environ: Mapping[str, str], who: Identities, held: ExitStack
) -> tuple[Ground, tuple[int, int]]:
    """Locks and prepares the data directory; what workers stand on, and the descriptors that they inherit."""
    _raise_open_files()
    make_run_dir(settings, who)
    held.callback(os.close, hold_supervisor_lock(settings.run_dir))
    pid_file = settings.run_dir / "supervisor.pid"
    pid_file.write_text(f"{os.getpid()}\n")
    held.callback(pid_file.unlink, missing_ok=True)
    prepared = prepare(settings, who)
    passage = _passage(settings, who)
    workers_lock = await hold_workers_lock(settings.run_dir, patience_s=_OLD_WORKERS_S)
    held.callback(os.close, workers_lock)
    # Only the supervisor has the writing end: when it is gone, for whatever reason, workers read the end.
    lifeline, writing_end = os.pipe()
    held.callback(os.close, lifeline)
    held.callback(os.close, writing_end)
    surroundings = {name: environ[name] for name in _PASSED_ON if name in environ} | {"HOME": "/nonexistent"}
    ground = Ground(
        settings=settings,
        who=who,
        passage=passage,
        lifeline=lifeline,
        feed_key=prepared.feed_key,
        admin_password=prepared.admin_password,
        surroundings=surroundings,
    )
    return ground, (lifeline, workers_lock)


def _passage(settings: Settings, who: Identities) -> Passage:
    if not who.separate:
        return Passage((), ())
    trees = program_trees()
    for tree in unreadable(trees):
        raise PermissionError(
            f"{tree} cannot be read by the uids that control and the gateways run under: chmod -R go+rX {tree}"
        )
    passage = plan([*trees, settings.data_dir])
    for folder in passage.hidden:
        _log.info("%s is closed to other users: workers see a private copy of the path", folder)
    return passage


async def _drain(workers: Sequence[Worker], runs: Mapping[str, asyncio.Task[None]]) -> None:
    if not runs:
        return
    loop = asyncio.get_running_loop()
    end = loop.time() + _DRAIN_S
    front = [worker for worker in workers if worker.name not in _BEHIND]
    for worker in front:
        worker.stop()
    if front:
        await asyncio.wait([runs[worker.name] for worker in front], timeout=_FRONT_DRAIN_S)
    for worker in workers:
        worker.stop()
    await asyncio.wait(runs.values(), timeout=max(end - loop.time(), 0))
    for worker in workers:
        worker.kill()
    await asyncio.wait(runs.values())


async def _tell_when_ready(workers: Sequence[Worker], tell_ready: Callable[[], None]) -> None:
    try:
        async with asyncio.timeout(_SLOW_START_S):
            await all_ready(workers)
    except TimeoutError:
        missing = [worker.name for worker in workers if not worker.ready.is_set()]
        _log.warning("still waiting for %s", ", ".join(missing))
        await all_ready(workers)
    _log.info("ready")
    tell_ready()


def _stop_signals(workers: Sequence[Worker]) -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    first = 0.0

    def on_signal(number: signal.Signals) -> None:
        nonlocal first
        if not stop.is_set():
            _log.info("%s: draining, at most %d s; jobs live on", number.name, _DRAIN_S)
            first = loop.time()
            stop.set()
        elif loop.time() - first > _SAME_SIGNAL_S:
            for worker in workers:
                worker.kill()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal, number)
    return stop


def _raise_open_files() -> None:
    # Each visit is two descriptors; the usual soft limit of 1024 would end at 500.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
