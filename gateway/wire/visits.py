"""The live visits of this process, found by the grounds they rest on.

State: every open Visit, and for each ground the visits that rest on it. Withdrawing a ground cuts
its visits within the same turn of the loop; nothing asks all visits again (law 3).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.wire import journal

log = logging.getLogger(__name__)

Cut = Callable[[Refusal], object]
"""Ends a visit now: closes its sockets, or has them closed in this turn of the loop. Must not wait."""

ENDED: Final = "ended"


class Visit:
    """One person's live connection through one entry: an async context manager that lasts as long as it."""

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
        self._cut: Cut | None = cut
        self._started = 0.0

    async def __aenter__(self) -> Self:
        """Enters the list of live visits; awaits nothing."""
        self._started = asyncio.get_running_loop().time()
        self._visits.enter(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the list and writes the journal's line; awaits nothing."""
        if kind is not None and self.reason == ENDED:
            self.reason = kind.__name__
        self._cut = None
        self._visits.leave(self)
        journal.ended(_ended(self, asyncio.get_running_loop().time() - self._started))

    def count(self, inward: int, outward: int) -> None:
        """Adds bytes that went to the job and came from it."""
        self.inward += inward
        self.outward += outward

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

    def __init__(self, name: str) -> None:
        """`name` is the process's; visit ids begin with it."""
        self._name = name
        self._numbers = itertools.count(1)
        self._live: dict[str, Visit] = {}
        self._by_ground: dict[str, dict[str, Visit]] = defaultdict(dict)
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
        for ground in visit.admission.grounds:
            self._by_ground[ground][visit.id] = visit
        self._none_left.clear()

    def leave(self, visit: Visit) -> None:
        """For Visit alone: it has ended."""
        del self._live[visit.id]
        for ground in visit.admission.grounds:
            resting = self._by_ground[ground]
            resting.pop(visit.id, None)
            if not resting:
                del self._by_ground[ground]
        if not self._live:
            self._none_left.set()


def _ended(visit: Visit, seconds: float) -> journal.Ended:
    return journal.Ended(
        visit_id=visit.id,
        admission=visit.admission,
        protocol=visit.protocol,
        address=visit.address,
        seconds=seconds,
        inward=visit.inward,
        outward=visit.outward,
        reason=visit.reason,
    )
