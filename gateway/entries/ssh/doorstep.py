"""Connections that did not sign in yet: bounded, in all and from one address.

State: those that wait. Whoever comes is let on the doorstep; when it is full, somebody else is sent
away: first who did not even name a user, of these who has stood there longest. So a crowd that only
connects and stays silent, or that hammers from one address, does not keep a person out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

ALL_LIMIT: Final = 256
ADDRESS_LIMIT: Final = 64


class Waiting(Protocol):
    """A connection on the doorstep."""

    address: str

    @property
    def named(self) -> bool:
        """Whether it has said who it wants to be."""

    def send_away(self) -> None:
        """Ends it at once."""


class Doorstep:
    """All connections of one process that wait to sign in, in the order they came."""

    def __init__(self, *, all_limit: int = ALL_LIMIT, address_limit: int = ADDRESS_LIMIT) -> None:
        """Nobody waits."""
        self._all_limit, self._address_limit = all_limit, address_limit
        self._waiting: dict[Waiting, None] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def enter(self, comer: Waiting) -> None:
        """Lets a connection wait; sends another away when there are too many."""
        neighbours = [waiting for waiting in self._waiting if waiting.address == comer.address]
        if len(neighbours) >= self._address_limit:
            self._send_away(neighbours)
        elif len(self._waiting) >= self._all_limit:
            self._send_away(self._waiting)
        self._waiting[comer] = None

    def leave(self, waiting: Waiting) -> None:
        """The connection signed in or ended."""
        self._waiting.pop(waiting, None)

    def _send_away(self, among: Iterable[Waiting]) -> None:
        goner = min(among, key=lambda waiting: waiting.named)  # the first, hence the oldest, of the unnamed ones
        self.leave(goner)
        goner.send_away()
