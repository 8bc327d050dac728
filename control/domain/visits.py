"""An open visit as control knows it: what its gateway told, and which gateway that is."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.contract.visits import LiveVisit


@dataclass(frozen=True, slots=True)
class OpenVisit:
    """A person's live connection through an entry, at a gateway."""

    gateway: str
    visit: LiveVisit
