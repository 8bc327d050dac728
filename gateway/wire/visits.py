"""The live visits of this process, found by the grounds they rest on.

State: every open Visit, for each ground the visits that rest on it, and how many there are of each entry
and from each address. Withdrawing a ground cuts
its visits within the same turn of the loop; nothing asks all visits again (law 3).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from gateway import clock
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.core.room import Crowd
from gateway.wire import journal

log = logging.getLogger(__name__)

Cut = Callable[[Refusal], object]
"""Ends a visit now: closes its sockets, or has them closed in this turn of the loop. Must not wait."""

Told = Callable[[journal.Ended], object]
"""Is told of each visit's end."""

ENDED: Final = "ended"


class Visit:
    """One person's live connection through one entry: an async context manager that lasts as long as it.

    Where no block lasts as long, `begin` and `leave` stand for its two ends.
    """

    __slots__ = (
        "_cut",
        "_loop",
        "_started",
        "_visits",
        "address",
        "admission",
        "id",
        "inward",
        "outward",
        "protocol",
        "reason",
        "since",
    )

    def __init__(
        self, visits: Visits, visit_id: str, admission: Admission, protocol: str, address: str, cut: Cut
    ) -> None:
        """Use `Visits.open`."""
        self.id = visit_id
        self.admission = admission
        self.protocol = protocol
        self.address = address
        self.inward = 0
        self.outward = 0
        self.reason = ENDED
        self._visits = visits
        self._loop = asyncio.get_running_loop()
        self.since = 0.0
        """When it began, in epoch seconds."""
        self._cut: Cut | None = cut
        self._started = 0.0

    async def __aenter__(self) -> Self:
        """Enters the list of live visits; awaits nothing."""
        return self.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the list and writes the journal's line; awaits nothing."""
        if kind is not None and self.reason == ENDED:
            self.reason = kind.__name__
        self.leave()

    def begin(self) -> Self:
        """Enters the list of live visits. Who calls it sees to it that `leave` is called, whatever happens."""
        self._started = self._loop.time()
        self.since = self._visits.now()
        self._visits.enter(self)
        return self

    def leave(self) -> None:
        """Leaves the list and has the journal's line written."""
        self._cut = None
        self._visits.leave(self)
        self._visits.tell(_ended(self, self._loop.time() - self._started))

    def pass_on(self, cut: Cut) -> None:
        """From now on another cuts it; not after it was cut."""
        if self._cut is not None:
            self._cut = cut

    def count(self, inward: int, outward: int) -> None:
        """Adds bytes that went to the job and came from it."""
        self.inward += inward
        self.outward += outward

    def counts(self) -> tuple[int, int]:
        """Bytes that went to the job, and came from it, so far."""
        return self.inward, self.outward

    def end(self, refusal: Refusal) -> None:
        """Cuts the visit with this reason; only the first call does anything."""
        cut, self._cut = self._cut, None
        if cut is None:
            return
        self.reason = refusal.code
        try:
            cut(refusal)
        except Exception:  # one visit's fault must not keep the others from being cut
            log.exception("visit %s: cutting failed", self.id)


class Visits:
    """All live visits of one gateway process."""

    def __init__(
        self,
        name: str,
        *,
        tell: Told = journal.ended,
        now: Callable[[], float] = clock.now,
        hold: Callable[[int, int], object] = lambda _entry, _count: None,
    ) -> None:
        """`name` is the process's, and of this process alone; visit ids begin with it. `tell` hears of each end.

        `hold` hears how many visits an entry has whose owner set limits, whenever that changes.
        """
        self.tell = tell
        self._hold = hold
        self.now = now
        self._name = name
        self._numbers = itertools.count(1)
        self._live: dict[str, Visit] = {}
        self._by_ground: dict[str, dict[str, Visit]] = defaultdict(dict)
        self._of_entry: Counter[int] = Counter()
        self._of_address: Counter[str] = Counter()
        self._none_left = asyncio.Event()
        self._none_left.set()

    def __len__(self) -> int:
        """How many are open."""
        return len(self._live)

    def open(self, admission: Admission, protocol: str, address: str, cut: Cut) -> Visit:
        """A visit for as long as its `async with` block runs; its journal line is written at the end.

        Enter it right after decide(), before anything is awaited: what is withdrawn from then on
        calls `cut` (at most once), with the Refusal to tell the person.
        """
        return Visit(self, f"{self._name}-{next(self._numbers)}", admission, protocol, address, cut)

    def withdraw(self, grounds: Iterable[str]) -> int:
        """Cuts every visit that rests on one of these grounds; returns how many."""
        cut = {visit.id: visit for ground in grounds for visit in self._by_ground.get(ground, {}).values()}
        for visit in cut.values():
            entry = visit.admission.entry
            visit.end(Refusal(Code.WITHDRAWN, entry.job_id, entry.name))
        return len(cut)

    def cut(self, visit_id: str) -> bool:
        """Cuts one visit, because its entry's owner or an administrator said so; whether it was open."""
        visit = self._live.get(visit_id)
        if visit is None:
            return False
        visit.end(Refusal(Code.CUT, visit.admission.entry.job_id, visit.admission.entry.name))
        return True

    def live(self) -> Mapping[str, Visit]:
        """Every open visit by id. Read it before the next await."""
        return self._live

    def crowd(self, entry_id: int, address: str, *, without: Visit | None = None) -> Crowd:
        """How many visits there are in all, at this entry, and from this address; `without` one that makes way."""
        total, here, there = len(self._live), self._of_entry[entry_id], self._of_address[address]
        if without is None or without.id not in self._live:
            return Crowd(total, here, there)
        return Crowd(total - 1, here - (without.admission.entry.id == entry_id), there - (without.address == address))

    def cut_all(self, code: Code) -> int:
        """Cuts every visit (the process is ending); returns how many."""
        visits = list(self._live.values())
        for visit in visits:
            visit.end(Refusal(code, visit.admission.entry.job_id, visit.admission.entry.name))
        return len(visits)

    async def wait_none(self) -> None:
        """Returns once no visit is open."""
        await self._none_left.wait()

    def enter(self, visit: Visit) -> None:
        """For Visit alone: from now on its grounds lead to it."""
        self._live[visit.id] = visit
        self._of_entry[visit.admission.entry.id] += 1
        self._of_address[visit.address] += 1
        self._tell_held(visit)
        for ground in visit.admission.grounds:
            self._by_ground[ground][visit.id] = visit
        self._none_left.clear()

    def leave(self, visit: Visit) -> None:
        """For Visit alone: it has ended."""
        del self._live[visit.id]
        _take_off(self._of_entry, visit.admission.entry.id)
        _take_off(self._of_address, visit.address)
        self._tell_held(visit)
        for ground in visit.admission.grounds:
            resting = self._by_ground[ground]
            resting.pop(visit.id, None)
            if not resting:
                del self._by_ground[ground]
        if not self._live:
            self._none_left.set()

    def _tell_held(self, visit: Visit) -> None:
        entry = visit.admission.entry
        if entry.limits is not None:
            self._hold(entry.id, self._of_entry[entry.id])


def _take_off(counter: Counter[Any], key: object) -> None:
    """One less; what nobody holds is forgotten."""
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def _ended(visit: Visit, seconds: float) -> journal.Ended:
    return journal.Ended(
        visit.id,
        visit.admission,
        visit.protocol,
        visit.address,
        seconds,
        visit.inward,
        visit.outward,
        visit.reason,
        visit.since,
    )
