"""A whole list from control while it comes in, slice by slice, beside the table that serves on.

What costs time for each record happens here, a slice at a time, so that the step in which the table
takes the list over is short, however long the list is: what is lost is known by then. A record that
the table holds already is kept as the object that it is: after a reconnection nothing new stays in memory.

State: the records taken so far. It is used for one list and by one caller, and the table must not be
edited in the meantime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateway.contract.codec import Record
from gateway.core.grounds import ENDING, End, claims, ends
from gateway.core.index import Index


class Listing:
    """One list, and how it differs from what the table holds."""

    def __init__(self, present: Index) -> None:
        """Nothing taken yet."""
        self.index = Index()
        self.ends: list[End] = []
        """When credentials and grants run out, in no order."""
        self.fresh = 0
        """How many records the table did not hold like this."""
        self._present = present
        self._present_size = len(present)
        self._lost: set[str] = set()
        self._kept = 0
        """How many of the table's kinds and keys the list has, too."""

    def take(self, records: Iterable[Record]) -> None:
        """Adds one slice. Of two records of one kind and key the later one counts."""
        for told in records:
            held = self._present.get(type(told), told.id) if self._present_size else None
            record = told
            if held is None:
                self.fresh += 1
            elif held == told:
                record = held
                if self._lost:
                    self._lost.difference_update(ground for ground, _ in claims(held))
            else:
                self.fresh += 1
                self._compare(held, told)
            before = self.index.put(record)
            self._kept += held is not None and before is None
            if type(record) in ENDING:
                self.ends += ends(record)

    def lost(self) -> frozenset[str]:
        """The grounds that stand in the table and not in the list, or there with other facts."""
        gone = self._present.missing_in(self.index) if self._kept < self._present_size else ()
        return frozenset(self._lost).union(ground for record in gone for ground, _ in claims(record))

    def differs(self) -> bool:
        """Whether the list, now that it is whole, is another than the table holds."""
        return bool(self.fresh) or len(self.index) != self._present_size

    def forget_old(self) -> Iterator[None]:
        """Gives up what the table held before, a little with each step; only once the list was adopted."""
        return self._present.crumble()

    def _compare(self, held: Record, record: Record) -> None:
        """A ground names its record, so that what one record gives can be lost by its successor alone."""
        still = claims(record)
        for claim in claims(held):
            if claim in still:
                self._lost.discard(claim[0])
            else:
                self._lost.add(claim[0])
