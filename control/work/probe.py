"""Looking at jobs: asks engines in batches, and writes what the answers mean.

State: the number of each look, so that an answer that was overtaken by a later one changes nothing;
and since when an engine is silent or denies a job. All of it may be lost.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.jobs.observed import EngineEvent, Observed
from control.domain.jobs.states import ENDED
from control.domain.jobs.steps import Launch, launch_of
from control.domain.jobs.verdict import Known, Verdict, judge, judge_absence, judge_missed_start, judge_silence
from control.runtimes.runtime import PROBE_JOBS, RefusedError, Runtime
from control.store import jobs
from control.store.engine import Database
from control.store.tables import Job
from control.work.lease import WorkLease

log = logging.getLogger(__name__)

OWN_WORDS: Final = frozenset(code.value for code in EventCode)
"""An engine's event with one of these reasons tells what control tells by itself."""


class Probe:
    """Observes jobs on all clusters."""

    def __init__(
        self, db: Database, lease: WorkLease, runtimes: Mapping[str, Runtime], now: Callable[[], float]
    ) -> None:
        self._db = db
        self._lease = lease
        self._runtimes = runtimes
        self._now = now
        self._numbers = itertools.count(1)
        self._applied: dict[str, int] = {}
        self._silent_since: dict[str, float] = {}
        self._absent_since: dict[str, float] = {}

    async def look_at_all(self) -> None:
        """One look at every live job that an engine was asked for."""
        async with self._db.read() as session:
            asked = [job for job in await jobs.live(session) if job.handle is not None]
        self._forget_all_but({job.id for job in asked})
        for cluster, rows in itertools.groupby(sorted(asked, key=_cluster), key=_cluster):
            for batch in _batches(list(rows)):
                await self._look(cluster, batch)

    async def look(self, job: Job) -> None:
        """One look at one job, now."""
        await self._look(job.cluster, [job])

    async def apply(self, job: Job, verdict: Verdict) -> None:
        """Writes `verdict`, unless the job has ended meanwhile."""
        async with self._lease.write() as session:
            row = await jobs.job(session, job.id)
            if row is not None and row.state not in ENDED:
                await _change(session, row, verdict)

    async def _look(self, cluster: str, batch: Sequence[Job]) -> None:
        number = next(self._numbers)
        runtime = self._runtimes.get(cluster)
        try:
            if runtime is None:
                raise ConnectionError(f"no cluster {cluster}")
            seen = await runtime.probe([job.id for job in batch])
        except (OSError, TimeoutError, RefusedError) as fault:
            await self._silence(cluster, batch, fault)
            return
        if self._silent_since.pop(cluster, None) is not None:
            log.info("cluster %s answers again", cluster)
        for job in batch:
            if job.id in seen:
                self._absent_since.pop(job.id, None)
                await self._observe(job, seen[job.id], number)
            else:
                await self._absence(job)

    async def _silence(self, cluster: str, batch: Sequence[Job], fault: Exception) -> None:
        now = self._now()
        if cluster not in self._silent_since:
            log.warning("cluster %s does not answer: %s", cluster, fault)
        silent_s = now - self._silent_since.setdefault(cluster, now)
        for job in batch:
            verdict = judge_silence(known(job), silent_s, now)
            if verdict is not None:
                await self.apply(job, verdict)

    async def _absence(self, job: Job) -> None:
        if launch_of(job.handle) is not Launch.DONE:
            return  # it is asked for again, see domain/jobs/steps.py
        now = self._now()
        verdict = judge_absence(known(job), now - self._absent_since.setdefault(job.id, now), now)
        if verdict is not None:
            await self.apply(job, verdict)

    async def _observe(self, job: Job, seen: Observed, number: int) -> None:
        if not _tells_news(job, seen, self._now()):
            return
        async with self._lease.write() as session:
            row = await jobs.job(session, job.id)
            # From here to the end of the transaction nobody else writes: the number and the row agree.
            if row is None or row.state in ENDED or self._applied.get(job.id, 0) > number:
                return
            self._applied[job.id] = number
            if launch_of(row.handle) is Launch.ASKED:
                row.handle = {"job": row.id}
                await jobs.add_event(session, row, NewEvent(EventCode.CREATED, {"job": row.id}), self._now())
            row.node, row.exit_code = seen.node or row.node, seen.exit_code
            for event in _unheard(row, seen):
                row.engine_heard_at = event.at
                if event.reason not in OWN_WORDS:
                    await jobs.add_event(session, row, _engine_event(event), event.at)
            now = self._now()
            for verdict in filter(None, (judge_missed_start(known(row), seen, now), judge(known(row), seen, now))):
                await _change(session, row, verdict)

    def _forget_all_but(self, names: set[str]) -> None:
        for memory in (self._applied, self._absent_since):
            for name in memory.keys() - names:
                memory.pop(name, None)


def known(job: Job) -> Known:
    """What control knows of a job when it judges."""
    return Known(job.state, job.started_at is not None, job.closing_at, job.closing_by, job.time_limit_s)


async def _change(session: AsyncSession, job: Job, verdict: Verdict) -> None:
    log.info("job %s: %s -> %s (%s)", job.id, job.state, verdict.state, verdict.event.code)
    await jobs.transition(session, job, verdict.state, verdict.event, verdict.at)


def _tells_news(job: Job, seen: Observed, now: float) -> bool:
    return (
        judge(known(job), seen, now) is not None or bool(_unheard(job, seen)) or launch_of(job.handle) is Launch.ASKED
    )


def _unheard(job: Job, seen: Observed) -> list[EngineEvent]:
    return [event for event in seen.events if event.at > job.engine_heard_at]


def _engine_event(event: EngineEvent) -> NewEvent:
    kind = EventKind.WARNING if event.warning else EventKind.NORMAL
    return NewEvent(EventCode.ENGINE, {"reason": event.reason, "message": event.message}, kind)


def _cluster(job: Job) -> str:
    return job.cluster


def _batches(rows: Sequence[Job]) -> Iterable[Sequence[Job]]:
    return (rows[start : start + PROBE_JOBS] for start in range(0, len(rows), PROBE_JOBS))
