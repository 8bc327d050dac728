"""What every entry is handed: one frozen bundle, made by the server."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.config import GatewayConfig
from gateway.contract.routes import Entry
from gateway.core import pace
from gateway.core.decide import Admission, Decision, decide, decide_home
from gateway.core.refusals import Code, Refusal
from gateway.core.room import no_room
from gateway.core.table import Table
from gateway.core.tickets import NONCE_BYTES, Purpose, Visitor, open_sealed, seal
from gateway.wire import identity
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.desk import Desk
from gateway.wire.identity import Identities
from gateway.wire.metrics import Metrics
from gateway.wire.tally import Tally
from gateway.wire.visits import Visit, Visits


@dataclass(frozen=True, slots=True)
class Gate:
    """The table to look in, the visits to enter oneself in, the bridge to dial by, and who to ask."""

    config: GatewayConfig
    table: Table
    visits: Visits
    bridge: Bridge
    ask: Ask
    now: Callable[[], float]
    metrics: Metrics = field(default_factory=Metrics)
    identities: Identities = field(default_factory=Identities)
    desk: Desk = field(default_factory=Desk)
    tally: Tally = field(default_factory=lambda: Tally(None, ""))

    def decide(self, entry: Entry, visitor: Visitor) -> Decision:
        """May this visitor pass now? Open the visit before the next await."""
        return decide(entry, visitor, self.table, self.now())

    def decide_home(self, cluster: str, visitor: Visitor) -> Admission | Refusal:
        """May this visitor enter their home there now? Open the visit before the next await."""
        return decide_home(cluster, visitor, self.table, self.now())

    def room(self, entry: Entry, address: str, *, instead_of: Visit | None = None) -> Refusal | None:
        """Why one more visit of this entry from this address does not fit; None when it does.

        `instead_of` is the visit whose place it takes: that one does not count.
        """
        crowd = self.visits.crowd(entry.id, address, without=instead_of)
        if entry.limits is not None:
            crowd = crowd._replace(elsewhere=self.tally.held_elsewhere(entry.id))
        code = no_room(crowd, self.config.limits, entry.limits)
        return None if code is None else Refusal(code, entry.job_id, entry.name)

    def pace(self, admission: Admission, address: str) -> Refusal | None:
        """Counts one request of this visitor; why it comes too soon after others, None when it does not."""
        entry = admission.entry
        limit = None if entry.limits is None else entry.limits.requests_per_minute
        if limit is None:
            return None
        person, now = admission.visitor.user_id, self.now()
        visitor = f"user {person}" if person is not None else address
        wait_s = pace.wait_s(*self.tally.asked(entry.id, visitor, now), now, limit)
        if wait_s:
            return Refusal(Code.TOO_MANY_REQUESTS, entry.job_id, entry.name, wait_s)
        self.tally.ask(entry.id, visitor, now)
        return None

    def identity(self, admission: Admission) -> bytes:
        """The header lines that tell an app who comes; good for `identity.REUSE_S` seconds more."""
        secrets = self.table.secrets(identity.USE)
        return self.identities.lines(admission, secrets, issuer=self.config.console_url, now=self.now())

    def seal(self, purpose: Purpose, payload: dict[str, Any]) -> str | None:
        """The payload sealed with the newest ticket secret; None while control has given none."""
        secrets = self.table.secrets("ticket")
        return seal(secrets[0], purpose, payload, os.urandom(NONCE_BYTES)) if secrets else None

    def open_sealed(self, purpose: Purpose, text: str) -> dict[str, Any] | None:
        """The payload of a text that a gateway of ours sealed for this purpose; None for any other text."""
        return open_sealed(self.table.secrets("ticket"), purpose, text)
