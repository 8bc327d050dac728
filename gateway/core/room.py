"""Whether there is room for one more visit: limits for the process, an entry and an address, and a fair share.

An entry's owner may set a limit of their own, which counts the visits of all processes.

While there is plenty of room an entry may hold as many visits as its limit says. When room becomes
scarce, an entry holds at most FAIR times what is still free: one that is flooded stops growing before
the last place is taken, several share, and a quiet entry is always let in until there is none at all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from gateway.contract.routes import EntryLimits
from gateway.core.refusals import Code

FAIR: Final = 2
QUIET: Final = 8
"""An entry with fewer visits than this need not share."""


class Limits(NamedTuple):
    """The most visits of one gateway process: in all, of one entry, and from one address."""

    total: int
    of_entry: int
    of_address: int


class Crowd(NamedTuple):
    """How many visits there are: in all, at the entry in question, and from the address in question.

    `elsewhere` are the entry's at other processes. A tuple, because one is made for each visit.
    """

    total: int
    at_entry: int
    from_address: int
    elsewhere: int = 0


def no_room(crowd: Crowd, limits: Limits, owners: EntryLimits | None = None) -> Code | None:
    """Why one more visit is refused; None when it is not. `owners` are the limits that the entry's owner set."""
    if crowd.from_address >= limits.of_address:
        return Code.RATE_LIMITED
    most = None if owners is None else owners.connections
    if most is not None and crowd.at_entry + crowd.elsewhere >= most:
        return Code.BUSY
    free = limits.total - crowd.total
    share = min(limits.of_entry, max(QUIET, FAIR * free))
    return Code.BUSY if free <= 0 or crowd.at_entry >= share else None
