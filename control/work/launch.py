"""Launching a job: what is needed is made ready, the engine is asked, each handle is saved before the next step.

A launch may be cut at any point, by the end of this process too, and is simply begun again: the job
says `asked` before the engine hears of it, and an engine starts a job only once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from control.domain.apps import AppState, Installed
from control.domain.entries import port_variable
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import ENDED, State
from control.domain.jobs.steps import Launch, asked_handle, launch_of
from control.domain.jobs.verdict import Verdict, judge_refusal
from control.runtimes.runtime import Handle, Order, RefusedError, Runtime
from control.store import entries, jobs, people
from control.store.engine import Database
from control.store.tables import Entry, Job, User
from control.work.lease import WorkLease
from control.work.probe import Probe

log = logging.getLogger(__name__)

LOG_LIMIT_BYTES: Final = 1024 * 1024 * 1024
"""Bytes of output kept of one job; what comes after is counted and thrown away by the engine."""


class Apps(Protocol):
    """The apps of which some are installed by their engine at first use."""

    def state(self, name: str) -> AppState:
        """How far the installation is. Raises KeyError for what is no app."""


class Launcher:
    """Starts jobs. Holds no state."""

    def __init__(
        self,
        db: Database,
        lease: WorkLease,
        probe: Probe,
        runtimes: Mapping[str, Runtime],
        apps: Apps,
        now: Callable[[], float],
    ) -> None:
        self._db = db
        self._lease = lease
        self._probe = probe
        self._runtimes = runtimes
        self._apps = apps
        self._now = now

    async def start(self, job: Job) -> float | None:
        """Takes the launch one step further; returns seconds after which to look again.

        Raises ConnectionError or TimeoutError when the engine does not answer.
        """
        runtime = self._runtimes.get(job.cluster)
        if runtime is None:
            await self._probe.apply(job, judge_refusal("not_found", self._now()))
            return None
        if job.state is State.QUEUED:
            await self._schedule(job)
        order = await self._order(job, runtime)
        try:
            if await self._save(job, asked_handle(job.id)):
                async for handle in runtime.start(order):
                    await self._save(job, handle)
        except RefusedError as fault:
            log.warning("job %s was refused: %s", job.id, fault)
            await self._probe.apply(job, judge_refusal(fault.code.value, self._now()))
            return None
        return 0.0

    async def _schedule(self, job: Job) -> None:
        event = NewEvent(EventCode.SCHEDULED, {"job": job.id, "node": job.cluster})
        await self._probe.apply(job, Verdict(State.CREATING, event, self._now()))
        if self._is_to_install(job):
            await self._add_event(job, NewEvent(EventCode.APP_INSTALLING, {"app": job.app}))

    def _is_to_install(self, job: Job) -> bool:
        try:
            return job.app is not None and self._apps.state(job.app).state is not Installed.READY
        except KeyError:
            return False  # it was an app when the job was submitted

    async def _order(self, job: Job, runtime: Runtime) -> Order:
        async with self._db.read() as session:
            owner = await session.get_one(User, job.owner_id)
            identity = await people.identity(session, job.owner_id, job.cluster)
            opened = await entries.of_job(session, job.id)
        account = runtime.account_of(owner.id, owner.name)
        return Order(
            job=job.id,
            owner_name=owner.name,
            uid=account.uid if identity is None else identity.uid,
            home=job.home,
            work_dir=job.work_dir,
            command=tuple(job.command),
            env=job.env | _told(job, opened),
            cpus=job.cpus,
            memory_bytes=job.memory_bytes,
            time_limit_s=job.time_limit_s,
            readonly=tuple(job.readonly),
            log_limit_bytes=LOG_LIMIT_BYTES,
        )

    async def _save(self, job: Job, handle: Handle) -> bool:
        """Saves a handle, unless the job has ended meanwhile; never makes a finished launch one that was only asked."""
        async with self._lease.write() as session:
            row = await jobs.job(session, job.id)
            if row is None or row.state in ENDED:
                return False
            before, after = launch_of(row.handle), launch_of(handle)
            if before is not Launch.DONE or after is Launch.DONE:
                row.handle = handle
            if after is Launch.DONE and before is not Launch.DONE:
                await jobs.add_event(session, row, NewEvent(EventCode.CREATED, {"job": job.id}), self._now())
            return True

    async def _add_event(self, job: Job, event: NewEvent) -> None:
        async with self._lease.write() as session:
            row = await jobs.job(session, job.id)
            if row is not None:
                await jobs.add_event(session, row, event, self._now())


def _told(job: Job, opened: Sequence[Entry]) -> dict[str, str]:
    """What the platform tells a job of itself: its id and name, and the target port of each entry."""
    ports = {port_variable(entry.name): str(entry.target_port) for entry in opened if entry.target_port is not None}
    return {"STARLIGHT_JOB_ID": job.id, "STARLIGHT_JOB_NAME": job.name, "STARLIGHT_CLUSTER": job.cluster} | ports
