"""How many connections to control are open, for whom: people without a name may come to it, too.

On HTTP/2 one connection of theirs asks for a hundred of ours. Control takes as many as come; so few are let through
that it has time for everybody, and no address takes all of them.
State: the connections that are open, by the address that they are for.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from gateway.core.refusals import Code, Refusal
from gateway.core.room import Limits

_PART: Final = 4
"""Of the visits that a process may hold, in all and for an address, one in so many may be to control."""


class Desk:
    """The connections of one process to control."""

    def __init__(self) -> None:
        """None yet."""
        self._open: Counter[str] = Counter()

    def enter(self, address: str, limits: Limits) -> Refusal | None:
        """Counts one more for this address; why there is no room for it, None when there is."""
        if self._open.get(address, 0) >= limits.of_address // _PART:
            return Refusal(Code.RATE_LIMITED)
        if self._open.total() >= limits.total // _PART:
            return Refusal(Code.BUSY)
        self._open[address] += 1
        return None

    def leave(self, address: str) -> None:
        """One that had entered is gone."""
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]
