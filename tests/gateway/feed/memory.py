"""A control in memory: a FeedSource over a dict, for the tests of both ends of the feed."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from typing import Any

from gateway.contract.codec import Change, Record, key_of, kind_of
from gateway.contract.feed import Question
from gateway.contract.slices import Encoded, encoded
from gateway.contract.visits import LiveVisit, VisitsReport


class Bell:
    """Wakes all who wait for a fact whenever something may have changed it."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        """Has everybody look again."""
        for waiting in list(self._waiting):
            if not waiting.done():
                waiting.set_result(None)

    async def until(self, fact: Callable[[], bool]) -> None:
        """Returns once the fact holds."""
        while not fact():
            rung: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(rung)
            try:
                await rung
            finally:
                self._waiting.discard(rung)


class MemorySource:
    """Records with their revisions, and everything that gateways told."""

    def __init__(self, *records: Record, slice_size: int = 2) -> None:
        self.bell = Bell()
        self.epoch = "epoch-1"
        self.revision = 0
        self.horizon = 0
        self.changes: dict[tuple[str, str], Change] = {}
        self.acks: dict[str, int] = {}
        self.heard: list[tuple[Any, ...]] = []
        self.answers: dict[Question, dict[str, Any]] = {}
        self.asked: list[tuple[Question, dict[str, Any]]] = []
        self.live: dict[str, dict[str, LiveVisit]] = {}
        self.counts: dict[str, str] = {}
        self.to_cut: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._slice_size = slice_size
        for record in records:
            self._write(kind_of(record), key_of(record), record)

    def put(self, record: Record) -> int:
        """Writes a record and returns its revision."""
        return self._write(kind_of(record), key_of(record), record)

    def drop(self, record: Record) -> int:
        """Takes a record away and returns the revision of its end."""
        return self._write(kind_of(record), key_of(record), None)

    async def acknowledged_by(self, name: str, revision: int) -> None:
        """Returns once the gateway holds the revision."""
        await self.bell.until(lambda: self.acks.get(name, 0) >= revision)

    async def heard_of(self, *event: Any) -> None:
        """Returns once this was told."""
        await self.bell.until(lambda: event in self.heard)

    # The FeedSource protocol.

    async def slices(self) -> AsyncIterator[tuple[list[Encoded], int, bool]]:
        """All records, a few at a time."""
        revision = self.revision
        records = [encoded(change.record) for change in self.changes.values() if change.record is not None]
        for start in range(0, max(len(records), 1), self._slice_size):
            await asyncio.sleep(0)
            yield records[start : start + self._slice_size], revision, start + self._slice_size >= len(records)

    async def changes_after(self, revision: int, limit: int) -> list[Change] | None:
        """What changed, oldest first."""
        if revision < self.horizon or revision > self.revision:
            return None
        later = [change for change in self.changes.values() if change.revision > revision]
        return sorted(later, key=lambda change: change.revision)[:limit]

    async def wait_for(self, revision: int) -> None:
        """Returns when there is something newer."""
        await self.bell.until(lambda: self.revision > revision)

    async def answer(self, question: Question, arguments: dict[str, Any]) -> dict[str, Any]:
        """The prepared answer, once it may be given."""
        self.asked.append((question, arguments))
        self.bell.ring()
        await self.may_answer.wait()
        return self.answers.get(question, {"ok": False})

    def registered(self, name: str, role: str, instance: str) -> None:
        """Noted."""
        self.acks[name] = 0
        self._hear("registered", name, role, instance)

    def acknowledged(self, name: str, revision: int) -> None:
        """Noted."""
        self.acks[name] = revision
        self.bell.ring()

    def lost(self, name: str) -> None:
        """Noted."""
        self._hear("lost", name)

    def ports(self, name: str, failed: dict[int, str]) -> None:
        """Noted."""
        self._hear("ports", name, failed)

    def visits(self, name: str, report: VisitsReport) -> None:
        """Kept as the gateway's list."""
        live = self.live.setdefault(name, {})
        if report.everything:
            live.clear()
        live |= {visit.id: visit for visit in report.opened}
        for visit_id, (inward, outward) in report.counts.items():
            live[visit_id] = dataclasses.replace(live[visit_id], inward=inward, outward=outward)
        for visit_id in report.gone:
            live.pop(visit_id, None)
        self._hear("visits", name, report)

    def metrics(self, name: str, text: str) -> None:
        """Kept."""
        self.counts[name] = text
        self.bell.ring()

    async def cuts(self, name: str) -> list[str]:
        """What the test wants cut, told once."""
        await self.bell.until(lambda: bool(self.to_cut))
        names, self.to_cut = self.to_cut, []
        return names

    def _hear(self, *event: Any) -> None:
        self.heard.append(event)
        self.bell.ring()

    def _write(self, kind: str, key: str, record: Record | None) -> int:
        self.revision += 1
        self.changes[kind, key] = Change(self.revision, kind, key, record)
        self.bell.ring()
        return self.revision
