"""The loop that keeps entries served: random ports bound, losses shown and tried again, readiness told.

State: the random ports that this process knows the supervisor to hold, and when it last told it all of them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Final

from sqlalchemy import select

from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.jobs.states import State
from control.runtimes.supervisor import BusyError, Supervisor
from control.store import entries, feed, jobs
from control.store.engine import Database
from control.store.tables import Entry, Job
from control.work.gateways import TOPIC, Gateways
from control.work.lease import WorkLease
from control.work.loop import on_hints
from control.work.pulse import Pulse

log = logging.getLogger(__name__)

_EVERY_S: Final = 5.0
_TOPICS: Final = (TOPIC, feed.TOPIC)


class Routes:
    """Looks after entries."""

    def __init__(
        self,
        db: Database,
        lease: WorkLease,
        gateways: Gateways,
        supervisor: Supervisor,
        now: Callable[[], float],
        pulse: Pulse | None = None,
    ) -> None:
        self._db = db
        self._lease = lease
        self._gateways = gateways
        self._supervisor = supervisor
        self._now = now
        self._pulse = pulse
        self._bound: set[int] = set()
        self._kept_at = -math.inf

    async def run(self) -> None:
        """Works until cancelled."""
        await on_hints("looking after entries", self.look, self._db.hints, _TOPICS, every_s=_EVERY_S, pulse=self._pulse)

    async def look(self) -> None:
        """One look at all ports and all entries that are not ready yet."""
        busy = await self._bind()
        await self._show_ports(busy | self._gateways.failed_ports())
        await self._show_ready()
        await self._give_up()

    async def _bind(self) -> set[int]:
        """Has the supervisor hold exactly the ports of live entries; returns those that it cannot get."""
        async with self._db.read() as session:
            held = await entries.held_ports(session)
        for port in self._bound - held:
            await self._supervisor.release(port)
            self._bound.discard(port)
        busy = set()
        for port in held - self._bound:
            try:
                await self._supervisor.reserve(port)
                self._bound.add(port)
            except BusyError as fault:
                log.warning("random port %d: %s", port, fault)
                busy.add(port)
        return busy

    async def _give_up(self) -> None:
        """Has the supervisor give up ports that no entry holds, whoever had them bound."""
        if self._now() - self._kept_at >= _EVERY_S:
            self._kept_at = self._now()
            async with self._db.read() as session:
                held = await entries.held_ports(session)
            await self._supervisor.keep(held)

    async def _show_ports(self, lost: set[int]) -> None:
        async with self._db.read() as session:
            rows = await session.execute(
                select(Entry.id, Entry.held_port, Entry.port_lost).where(Entry.held_port.is_not(None))
            )
            changed = [row.id for row in rows if row.port_lost != (row.held_port in lost)]
        for entry_id in changed:
            async with self._lease.write() as session:
                entry = await entries.entry(session, entry_id)
                if entry is None or entry.held_port is None:
                    continue
                entry.port_lost = entry.held_port in lost
                job = await session.get_one(Job, entry.job_id)
                if entry.port_lost:
                    params = {"entry": entry.name, "port": entry.held_port}
                    event = NewEvent(EventCode.PORT_LOST, params, EventKind.WARNING)
                    await jobs.add_event(session, job, event, self._now())
                else:
                    await jobs.touch(session, job)

    async def _show_ready(self) -> None:
        """Entries that every gateway serves by now, with their job running."""
        async with self._db.read() as session:
            rows = await session.execute(
                select(Entry.id, Entry.job_id)
                .join(Job)
                .where(Entry.ready_at.is_(None), Entry.port_lost.is_(False), Job.state == State.RUNNING)
            )
            waiting = [(row.id, row.job_id) for row in rows]
            entry_revisions = await feed.revisions_of(session, "entry", [str(entry_id) for entry_id, _ in waiting])
            job_revisions = await feed.revisions_of(session, "job", [job_id for _, job_id in waiting])
        for entry_id, job_id in waiting:
            revision = entry_revisions.get(str(entry_id))  # none: it waits for its domain to be proved
            if revision and self._gateways.serves(max(revision, job_revisions.get(job_id, 0))):
                await self._tell_ready(entry_id)

    async def _tell_ready(self, entry_id: int) -> None:
        async with self._lease.write() as session:
            entry = await entries.entry(session, entry_id)
            if entry is not None and entry.ready_at is None:
                entry.ready_at = self._now()
                job = await session.get_one(Job, entry.job_id)
                await jobs.add_event(session, job, NewEvent(EventCode.ENTRY_READY, {"entry": entry.name}), self._now())
