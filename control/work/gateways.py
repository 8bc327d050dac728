"""The gateway processes that are connected now, and which revision each of them holds.

State: one entry for each registered name. It starts empty with every start of control; gateways
register again within a second.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from control.store.engine import Hints

TOPIC: Final = "gateways"
"""Hints: a gateway came, went, acknowledged or reported."""
ROLES: Final = ("web", "ssh")


@dataclass(slots=True)
class _Gateway:
    role: str
    instance: str
    revision: int = 0
    failed_ports: dict[int, str] = field(default_factory=dict)


class Gateways:
    """Who serves, and how much of it."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._known: dict[str, _Gateway] = {}

    def registered(self, name: str, role: str, instance: str) -> None:
        """A process speaks for `name` from now on; it has acknowledged nothing yet."""
        self._known[name] = _Gateway(role, instance)
        self._hints.tell(TOPIC)

    def acknowledged(self, name: str, revision: int) -> None:
        """The gateway's table holds `revision`."""
        gateway = self._known.get(name)
        if gateway is not None and revision != gateway.revision:
            gateway.revision = revision
            self._hints.tell(TOPIC)

    def lost(self, name: str) -> None:
        """The gateway's lease lapsed."""
        self._known.pop(name, None)
        self._hints.tell(TOPIC)

    def ports(self, name: str, failed: dict[int, str]) -> None:
        """The random ports that the gateway could not get."""
        gateway = self._known.get(name)
        if gateway is not None and gateway.failed_ports != failed:
            gateway.failed_ports = dict(failed)
            self._hints.tell(TOPIC)

    def serves(self, revision: int) -> bool:
        """Whether every registered gateway, of each role at least one, acknowledged `revision`."""
        return not self.missing() and not self._behind(revision)

    async def settled(self, revision: int, deadline_s: float) -> tuple[str, ...]:
        """Waits until all acknowledged `revision`; returns the names of those that had not at the deadline."""
        try:
            async with asyncio.timeout(deadline_s):
                while self._behind(revision):
                    await self._hints.wait(TOPIC, self._hints.generation(TOPIC))
        except TimeoutError:
            pass
        return self._behind(revision)

    def missing(self) -> tuple[str, ...]:
        """Gateways that hold no snapshot yet, and the roles of which none is registered."""
        roles = {gateway.role for gateway in self._known.values()}
        absent = tuple(role for role in ROLES if role not in roles)
        return absent + tuple(name for name, gateway in sorted(self._known.items()) if not gateway.revision)

    def failed_ports(self) -> set[int]:
        """Random ports that some gateway could not get."""
        return {port for gateway in self._known.values() for port in gateway.failed_ports}

    def _behind(self, revision: int) -> tuple[str, ...]:
        return tuple(name for name, gateway in sorted(self._known.items()) if gateway.revision < revision)
