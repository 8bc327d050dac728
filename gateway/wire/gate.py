"""What every entry is handed: one frozen bundle, made by the server."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.config import GatewayConfig
from gateway.contract.routes import Entry
from gateway.core.decide import Decision, decide
from gateway.core.table import Table
from gateway.core.tickets import NONCE_BYTES, Purpose, Visitor, open_sealed, seal
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.visits import Visits


@dataclass(frozen=True, slots=True)
class Gate:
    """The table to look in, the visits to enter oneself in, the bridge to dial by, and who to ask."""

    config: GatewayConfig
    table: Table
    visits: Visits
    bridge: Bridge
    ask: Ask
    now: Callable[[], float]

    def decide(self, entry: Entry, visitor: Visitor) -> Decision:
        """May this visitor pass now? Open the visit before the next await."""
        return decide(entry, visitor, self.table, self.now())

    def seal(self, purpose: Purpose, payload: dict[str, Any]) -> str | None:
        """The payload sealed with the newest ticket secret; None while control has given none."""
        secrets = self.table.secrets("ticket")
        return seal(secrets[0], purpose, payload, os.urandom(NONCE_BYTES)) if secrets else None

    def open_sealed(self, purpose: Purpose, text: str) -> dict[str, Any] | None:
        """The payload of a text that a gateway of ours sealed for this purpose; None for any other text."""
        return open_sealed(self.table.secrets("ticket"), purpose, text)
