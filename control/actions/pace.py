"""How often a person may do what costs others something: a few in a minute, then they wait.

State: the instants of the last minute, by person. It is forgotten with the process, which does no harm.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from control.domain.errors import Code, problem

WINDOW_S: Final = 60.0
_PEOPLE: Final = 10_000
"""People remembered at once; who did nothing for longest is forgotten first."""


class Pace:
    """At most `limit` of something in WINDOW_S, for each person."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._done: dict[int, deque[float]] = {}

    def step(self, person: int, now: float) -> None:
        """Counts one. Raises ProblemError RATE_LIMITED for one too many, which does not count."""
        done = self._done.pop(person, None) or deque()
        self._done[person] = done  # the last one again: the first is who did nothing for longest
        if len(self._done) > _PEOPLE:
            del self._done[next(iter(self._done))]
        while done and done[0] <= now - WINDOW_S:
            done.popleft()
        if len(done) >= self._limit:
            raise problem(Code.RATE_LIMITED, retry_after_s=max(1, round(done[0] + WINDOW_S - now)))
        done.append(now)
