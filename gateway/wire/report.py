"""Tells control of the live visits: the difference between what it was told and what is.

State: what this connection's control end was told. A new connection begins with a new Told, whose first
report holds everything. Each call costs one look at every live visit; a visit that comes and goes
between two calls costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from gateway.contract.visits import LiveVisit, VisitsReport
from gateway.wire.visits import Visit, Visits

T = TypeVar("T")

BATCH: Final = 500
"""Visits in one message: a full house is told in several, and the loop turns between them."""


class Told:
    """What one connection was told so far."""

    def __init__(self, visits: Visits) -> None:
        """Nothing yet."""
        self._visits = visits
        self._told: dict[str, tuple[int, int]] = {}
        self._first = True

    def news(self) -> Iterator[VisitsReport]:
        """What control does not know yet, in parts of at most BATCH visits; nothing when nothing changed.

        The loop may turn between two parts: each tells what is true when it is taken.
        """
        live = self._visits.live()
        gone = [name for name in self._told if name not in live]
        opened = [visit for name, visit in live.items() if name not in self._told]
        moved = [visit for name, visit in live.items() if self._told.get(name) not in (None, visit.counts())]
        for name in gone:
            del self._told[name]
        yield from self._parts(map(self._open, opened), map(self._counts, moved), iter(gone))

    def _parts(
        self, opened: Iterator[LiveVisit], counts: Iterator[tuple[str, tuple[int, int]]], gone: Iterator[str]
    ) -> Iterator[VisitsReport]:
        while True:
            part = VisitsReport(self._first, _some(opened), dict(_some(counts)), _some(gone))
            if not (part.everything or part.opened or part.counts or part.gone):
                return
            self._first = False
            yield part

    def _open(self, visit: Visit) -> LiveVisit:
        self._told[visit.id] = visit.counts()
        return _live(visit)

    def _counts(self, visit: Visit) -> tuple[str, tuple[int, int]]:
        self._told[visit.id] = visit.counts()
        return visit.id, visit.counts()


def _some(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(islice(items, BATCH))


def _live(visit: Visit) -> LiveVisit:
    visitor = visit.admission.visitor
    return LiveVisit(
        id=visit.id,
        entry_id=visit.admission.entry.id,
        user_id=visitor.user_id,
        user_name=visitor.name,
        address=visit.address,
        protocol=visit.protocol,
        since=visit.since,
        inward=visit.inward,
        outward=visit.outward,
    )
