"""Live visits as gateways tell control of them, in `report` messages on the feed.

{"visits": {"all": bool, "open": [visit...], "bytes": {ID: [in, out]}, "gone": [ID...]}}

`all`: forget what this gateway told before; that is how each new connection begins, so that the list
is a level and not an edge. What opened and ended between two reports is never told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class LiveVisit:
    """One person's live connection through one entry. `since` is in epoch seconds.

    `inward` bytes went to the job, `outward` came from it. `user_id` None: nobody signed in.
    """

    id: str
    entry_id: int
    user_id: int | None
    user_name: str
    address: str
    protocol: str
    since: float
    inward: int
    outward: int


@dataclass(frozen=True, slots=True)
class VisitsReport:
    """What changed since the last report of the same connection; `everything`: begin with an empty list."""

    everything: bool = False
    opened: tuple[LiveVisit, ...] = ()
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


_VISITS: Final = TypeAdapter(tuple[LiveVisit, ...])
_COUNTS: Final = TypeAdapter(dict[str, tuple[int, int]])
_NAMES: Final = TypeAdapter(tuple[str, ...])


def encode_report(report: VisitsReport) -> dict[str, Any]:
    """The report as JSON-ready plain data."""
    return {
        "all": report.everything,
        "open": [asdict(visit) for visit in report.opened],
        "bytes": {name: list(counts) for name, counts in report.counts.items()},
        "gone": list(report.gone),
    }


def decode_report(plain: Mapping[str, Any]) -> VisitsReport:
    """The report from plain data. Raises ValueError for a wrong shape."""
    return VisitsReport(
        everything=plain.get("all") is True,
        opened=_VISITS.validate_python(plain.get("open", ())),
        counts=_COUNTS.validate_python(plain.get("bytes", {})),
        gone=_NAMES.validate_python(plain.get("gone", ())),
    )
