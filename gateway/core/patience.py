"""How much that costs us more than the peer one connection may ask for: a bucket that fills again with time. Pure."""

from __future__ import annotations


class Patience:
    """Holds at most `most`, and gets `per_s` of it back each second."""

    __slots__ = ("_at", "_left", "_most", "_per_s")

    def __init__(self, most: float, per_s: float, now: float) -> None:
        """Full at `now`, in seconds of any clock that does not go back."""
        self._most = most
        self._per_s = per_s
        self._left = most
        self._at = now

    def spend(self, now: float, cost: float = 1.0) -> bool:
        """Takes `cost`; False when there is not so much left."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_s) - cost
        self._at = now
        return self._left >= 0

    def earn(self, gain: float) -> None:
        """Gives some back, for work that was worth it."""
        self._left = min(self._most, self._left + gain)
