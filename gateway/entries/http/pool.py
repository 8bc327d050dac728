"""Upstreams that a person's ended connection leaves behind, for their next one: it need not be dialled anew.

State: idle upstreams by the way they lead, the oldest taken first: under load all of them stay in use, however many
are needed at once now and then. They stay with their person: what an app
remembers of its peer never reaches another visitor, and people without a name share none.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from gateway.entries.http.stream import Stream

KEPT_S: Final = 2.0
"""Seconds for which an idle upstream connection is reused; apps that close idle ones do so later than this."""
LIMIT: Final = 256
"""Idle upstreams of one listener."""


class Pool:
    """The idle upstreams of one listener."""

    def __init__(self) -> None:
        self._idle: deque[tuple[object, Stream]] = deque()

    def give(self, key: object, up: Stream) -> None:
        """Keeps a quiet upstream for a moment; any other is cut."""
        if not is_quiet(up):
            up.abort()
            return
        self._idle.append((key, up))
        if len(self._idle) > LIMIT:
            self._idle.popleft()[1].abort()

    def take(self, key: object) -> Stream | None:
        """The oldest upstream of this way that is still good; None when there is none."""
        at = 0
        while at < len(self._idle):
            kept, up = self._idle[at]
            if kept != key:
                at += 1
                continue
            del self._idle[at]
            if is_quiet(up):
                return up
            up.abort()
        return None

    def sweep(self) -> None:
        """Cuts those that are good no more."""
        for _ in range(len(self._idle)):
            key, up = self._idle.popleft()
            self.give(key, up)

    def clear(self) -> None:
        """Cuts all of them."""
        while self._idle:
            self._idle.pop()[1].abort()


def is_quiet(up: Stream) -> bool:
    """Whether it was used a moment ago and said nothing since: a byte or an end now would be no answer."""
    return up.rested_s() < KEPT_S and not (up.buffer or up.eof or up.lost or up.transport.is_closing())
