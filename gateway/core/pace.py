"""How fast one visitor may ask: a sliding minute, from the counts of two whole ones.

Pure. The requests of the last sixty seconds are taken to be those of this minute and, of the minute before,
the share that lies within sixty seconds; a burst at the turn of a minute is so never let through twice.
"""

from __future__ import annotations

import math
from typing import Final

MINUTE_S: Final = 60


def minute_of(now: float) -> int:
    """The number of the minute in which `now`, epoch seconds, lies."""
    return int(now // MINUTE_S)


def wait_s(before: int, during: int, now: float, limit: int) -> int:
    """Seconds until one more request stays within `limit` a minute; 0 when it does now.

    `before` and `during` are the requests let through in the minute before, and in the one of `now`.
    """
    elapsed = now % MINUTE_S
    if before * (MINUTE_S - elapsed) / MINUTE_S + during < limit:
        return 0
    if during < limit:  # it is the minute before that fades
        return max(1, math.ceil(MINUTE_S - elapsed - MINUTE_S * (limit - during) / before))
    return math.ceil(MINUTE_S - elapsed + MINUTE_S * (1 - limit / during)) + 1
