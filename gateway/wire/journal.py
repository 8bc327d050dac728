"""One log line a visit, at its end: who, through which entry, how long, how much, why it ended. Never payload."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from gateway.core.decide import Admission

log = logging.getLogger("gateway.visit")


@dataclass(frozen=True, slots=True)
class Record:
    """What is kept of a visit that ended. `inward` bytes went to the job, `outward` came from it."""

    visit_id: str
    admission: Admission
    protocol: str
    address: str
    seconds: float
    inward: int
    outward: int
    reason: str


def write(record: Record) -> None:
    """Writes the line: names and numbers as key=value, in one fixed order."""
    admission = record.admission
    log.info(
        "visit=%s entry=%d job=%s user=%s via=%s protocol=%s from=%s seconds=%.3f in=%d out=%d end=%s",
        record.visit_id,
        admission.entry.id,
        admission.entry.job_id,
        admission.visitor.user_id or "-",
        admission.visitor.via,
        record.protocol,
        record.address,
        record.seconds,
        record.inward,
        record.outward,
        record.reason,
    )
