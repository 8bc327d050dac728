"""The loop that brings jobs to what is wanted of them.

For each job: load it, ask `domain/jobs/steps.py` for the step, act outside any transaction, apply what
came of it under the lease. Steps may be repeated, so that being killed between acting and applying
costs a repetition and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from control.domain.jobs.states import State
from control.domain.jobs.steps import Step, asked_handle, launch_of, next_step
from control.domain.jobs.verdict import judge_unlaunched
from control.runtimes.runtime import RefusedError, Runtime
from control.store import feed, jobs
from control.store.engine import Database
from control.store.tables import Job
from control.work.gateways import Gateways
from control.work.launch import Launcher
from control.work.loop import steadily
from control.work.probe import Probe, known
from control.work.pulse import Pulse
from control.work.queue import WorkQueue

log = logging.getLogger(__name__)

STOP_GRACE_S: Final = 10.0
_AT_ONCE: Final = 8
_PROBE_S: Final = 1.0
_ALL_S: Final = 10.0
_SOON_S: Final = 0.25
_AWAY_S: Final = 1.0
_CUT_S: Final = 1.0


class Jobs:
    """Reconciles all jobs."""

    def __init__(
        self,
        db: Database,
        launcher: Launcher,
        probe: Probe,
        gateways: Gateways,
        runtimes: Mapping[str, Runtime],
        pulse: Pulse | None = None,
    ) -> None:
        self._db = db
        self._launcher = launcher
        self._probe = probe
        self._gateways = gateways
        self._runtimes = runtimes
        self._pulse = pulse
        self._queue = WorkQueue()

    async def run(self) -> None:
        """Works until cancelled. Raises LeaseLostError when another process took over."""
        unlisten = self._db.hints.listen(jobs.TOPIC, self._queue.put)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._queue.run(self.reconcile, at_once=_AT_ONCE))
                group.create_task(
                    steadily("looking at jobs", self._probe.look_at_all, every_s=_PROBE_S, pulse=self._pulse)
                )
                group.create_task(steadily("queueing jobs", self._queue_all, every_s=_ALL_S, pulse=self._pulse))
        finally:
            unlisten()

    async def reconcile(self, name: str) -> float | None:
        """Takes one job one step further; returns seconds after which to look again, or None when it may rest."""
        async with self._db.read() as session:
            job = await jobs.job(session, name)
        if job is None:
            return None
        try:
            return await self._take_step(job)
        except (OSError, TimeoutError) as fault:
            log.info("job %s: %s; tried again", name, fault or type(fault).__name__)
            return _AWAY_S
        except RefusedError as fault:
            log.warning("job %s: its engine refused: %s", name, fault)
            return _AWAY_S * 5

    async def _take_step(self, job: Job) -> float | None:
        match next_step(job.state, job.wanted, launch_of(job.handle)):
            case Step.NONE:
                return None
            case Step.WATCH:
                return await self._watch(job)
            case Step.START:
                return await self._launcher.start(job)
            case Step.CANCEL:
                await self._probe.apply(job, judge_unlaunched(known(job), job.closing_at or job.submitted_at))
                return None
            case Step.STOP:
                return await self._stop(job)
            case Step.SUSPEND:
                await self._runtimes[job.cluster].suspend(_handle(job))
            case Step.RESUME:
                await self._runtimes[job.cluster].resume(_handle(job))
        await self._probe.look(job)
        return _SOON_S

    async def _watch(self, job: Job) -> float | None:
        """A job on its way is looked at often; one that has arrived is left to the batches."""
        if job.state is not State.CREATING:
            return None
        await self._probe.look(job)
        return _SOON_S

    async def _stop(self, job: Job) -> float:
        """Routes go first, the process after."""
        async with self._db.read() as session:
            revision = await feed.revision_of(session, "job", job.id)
        await self._gateways.settled(revision or 0, _CUT_S)
        await self._runtimes[job.cluster].stop(_handle(job), grace_s=STOP_GRACE_S)
        await self._probe.look(job)
        return _SOON_S

    async def _queue_all(self) -> None:
        """Hints may be lost, with the process that had them; the database tells of every live job."""
        async with self._db.read() as session:
            names = await jobs.live_ids(session)
        for name in names:
            self._queue.put(name)


def _handle(job: Job) -> dict[str, object]:
    return job.handle or asked_handle(job.id)
