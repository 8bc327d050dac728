"""The loop that looks after entries' own domains: proves them by their TXT record, sees where they point, and
warns before their certificates end.

Holds no state: what was looked at and said is in the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from control.domain.domains import WARN_DAYS, Sight, due_warning
from control.domain.events import EventCode, EventKind, NewEvent
from control.domain.instants import rfc3339
from control.runtimes.resolver import Resolver
from control.store import domains, entries, jobs
from control.store.domain_tables import EntryDomain
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.tables import Job
from control.work.lease import WorkLease

EVERY_S: Final = 15.0
AGAIN_S: Final = 60.0
"""Seconds after which a domain is looked at again."""
AT_ONCE: Final = 8
"""Questions to the name service at a time; a look asks at most ten times as many."""
_DAY_S: Final = 24 * 3600.0


class Domains:
    """Looks after domains."""

    def __init__(
        self,
        db: Database,
        lease: WorkLease,
        resolver: Resolver,
        vault: Vault,
        public_address: str,
        now: Callable[[], float],
    ) -> None:
        """`public_address` is where domains should point; empty when it is not known."""
        self._db = db
        self._lease = lease
        self._resolver = resolver
        self._vault = vault
        self._public_address = public_address
        self._now = now

    async def look(self) -> None:
        """One look at the domains that are due, and at the certificates that end."""
        await self._warn()
        async with self._db.read() as session:
            due = await domains.waiting(session, self._now() - AGAIN_S, 10 * AT_ONCE)
        for start in range(0, len(due), AT_ONCE):
            some = due[start : start + AT_ONCE]
            async with asyncio.TaskGroup() as group:
                sights = [group.create_task(self._resolver.sight(row.domain, self._public_address)) for row in some]
            for row, sight in zip(some, sights, strict=True):
                await self._write(row.entry_id, row.domain, sight.result())

    async def _write(self, entry_id: int, domain: str, sight: Sight) -> None:
        async with self._lease.write() as session:
            row, entry = await domains.of_entry(session, entry_id), await entries.entry(session, entry_id)
            if row is None or entry is None or row.held != domain:
                return
            job = await session.get_one(Job, entry.job_id)
            if await domains.see(session, self._vault, row, entry, job, sight, self._now()):
                await entries.publish(session, entry, job, self._now())

    async def _warn(self) -> None:
        now = self._now()
        async with self._db.read() as session:
            rows = await domains.ending(session, now + max(WARN_DAYS) * _DAY_S, now)
        for row in rows:
            days = due_warning(row.not_after, now)
            if days is not None and (row.warned_days is None or days < row.warned_days):
                await self._tell(row, days)

    async def _tell(self, seen: EntryDomain, days: int) -> None:
        async with self._lease.write() as session:
            row, entry = await domains.of_entry(session, seen.entry_id), await entries.entry(session, seen.entry_id)
            if row is None or entry is None or row.not_after != seen.not_after:
                return
            row.warned_days = days
            code = EventCode.CERTIFICATE_ENDS if days else EventCode.CERTIFICATE_ENDED
            params = {"entry": entry.name, "days": days, "until": rfc3339(row.not_after)}
            job = await session.get_one(Job, entry.job_id)
            await jobs.add_event(session, job, NewEvent(code, params, EventKind.WARNING), self._now())
