"""One log line a visit, at its end: who, through which entry, how long, how much, why it ended. Never payload."""

from __future__ import annotations

import logging
from typing import NamedTuple

from gateway.contract.routes import Entry
from gateway.core.decide import Admission
from gateway.core.refusals import Refusal

log = logging.getLogger("gateway.visit")


class Ended(NamedTuple):
    """What is kept of a visit that ended. `inward` bytes went to the job, `outward` came from it.

    `since` is when it began, in epoch seconds. A tuple, because one is made for each visit.
    """

    visit_id: str
    admission: Admission
    protocol: str
    address: str
    seconds: float
    inward: int
    outward: int
    reason: str
    since: float = 0.0


def ended(visit: Ended) -> None:
    """Writes the line of a visit: names and numbers as key=value, always in this order."""
    log.info(
        "visit=%s entry=%d job=%s user=%s via=%s protocol=%s from=%s seconds=%.3f in=%d out=%d end=%s",
        visit.visit_id,
        visit.admission.entry.id,
        visit.admission.entry.job_id,
        visit.admission.visitor.user_id or "-",
        visit.admission.visitor.via,
        visit.protocol,
        visit.address,
        visit.seconds,
        visit.inward,
        visit.outward,
        visit.reason,
    )


def refused(entry: Entry | None, refusal: Refusal, *, protocol: str, address: str) -> None:
    """Writes the line of somebody who was not let in; `entry` None when they asked for none that exists."""
    log.info(
        "refused=%s entry=%s job=%s protocol=%s from=%s",
        refusal.code,
        entry.id if entry else "-",
        entry.job_id if entry else "-",
        protocol,
        address,
    )
