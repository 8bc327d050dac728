"""Who is connected now, as the gateways report it, and the orders to cut somebody.

State: each gateway's open visits, and those that it is to cut. All of it may be lost: a gateway that
connects again tells everything, and what it told before is gone with it.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import defaultdict
from typing import Final

from control.domain.visits import OpenVisit
from control.store.engine import Hints
from gateway.contract.visits import LiveVisit, VisitsReport

GONE: Final = "visits-gone"
"""Hints: visits have ended."""
CUT: Final = "visits-cut"
"""Hints: a gateway is to cut a visit."""
VISITS_LIMIT: Final = 100_000
"""Open visits of one gateway that are kept; far more than it can hold."""


class Visits:
    """The live table."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._instances: dict[str, str] = {}
        self._open: dict[str, dict[str, LiveVisit]] = {}
        self._at: dict[str, str] = {}
        self._by_entry: defaultdict[int, set[str]] = defaultdict(set)
        self._to_cut: defaultdict[str, list[str]] = defaultdict(list)

    # What the feed tells.

    def registered(self, name: str, instance: str) -> None:
        """A process speaks for `name`: another one than before holds none of its visits."""
        if self._instances.get(name) != instance:
            self.lost(name)
        self._instances[name] = instance

    def lost(self, name: str) -> None:
        """The gateway is gone, and its visits with it."""
        self._instances.pop(name, None)
        self._to_cut.pop(name, None)
        self._forget(name, list(self._open.get(name, {})))
        self._open.pop(name, None)

    def report(self, name: str, report: VisitsReport) -> None:
        """What changed at a gateway."""
        known = self._open.setdefault(name, {})
        if report.everything:
            self._forget(name, list(known))
        for visit in report.opened:
            if len(known) < VISITS_LIMIT:
                known[visit.id] = visit
                self._at[visit.id] = name
                self._by_entry[visit.entry_id].add(visit.id)
        for visit_id, (inward, outward) in report.counts.items():
            if visit_id in known:
                known[visit_id] = dataclasses.replace(known[visit_id], inward=inward, outward=outward)
        self._forget(name, report.gone)

    async def cuts(self, name: str) -> list[str]:
        """The next visits that the gateway is to cut; waits until there are some."""
        while True:
            seen = self._hints.generation(CUT)
            names = self._to_cut.pop(name, [])
            if names:
                return names
            await self._hints.wait(CUT, seen)

    # What actions ask.

    def of_entry(self, entry_id: int) -> list[OpenVisit]:
        """The open visits of an entry, the oldest first."""
        found = [visit for name in self._by_entry.get(entry_id, ()) if (visit := self.find(name)) is not None]
        return sorted(found, key=lambda each: (each.visit.since, each.visit.id))

    def of_user(self, user_id: int | None) -> list[OpenVisit]:
        """The open visits of a person, or of everybody, the oldest first."""
        everything = [OpenVisit(gateway, visit) for gateway, held in self._open.items() for visit in held.values()]
        found = [each for each in everything if user_id is None or each.visit.user_id == user_id]
        return sorted(found, key=lambda each: (each.visit.since, each.visit.id))

    def find(self, visit_id: str) -> OpenVisit | None:
        """An open visit by its id."""
        gateway = self._at.get(visit_id)
        return None if gateway is None else OpenVisit(gateway, self._open[gateway][visit_id])

    async def cut(self, visit_id: str, deadline_s: float) -> bool:
        """Has the visit cut; whether its gateway said by the deadline that it is gone."""
        gateway = self._at.get(visit_id)
        if gateway is None:
            return True
        self._to_cut[gateway].append(visit_id)
        self._hints.tell(CUT)
        try:
            async with asyncio.timeout(deadline_s):
                while visit_id in self._at:
                    await self._hints.wait(GONE, self._hints.generation(GONE))
        except TimeoutError:
            return False
        return True

    def __len__(self) -> int:
        """How many are open, at all gateways."""
        return len(self._at)

    def _forget(self, gateway: str, names: list[str] | tuple[str, ...]) -> None:
        known = self._open.get(gateway, {})
        for name in names:
            if self._at.get(name) == gateway:
                del self._at[name]
            visit = known.pop(name, None)
            if visit is not None:
                self._take_off(visit)
        if names:
            self._hints.tell(GONE)

    def _take_off(self, visit: LiveVisit) -> None:
        at_entry = self._by_entry[visit.entry_id]
        at_entry.discard(visit.id)
        if not at_entry:
            del self._by_entry[visit.entry_id]
