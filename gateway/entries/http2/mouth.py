"""Where an errand's answer goes on HTTP/2: a stream, which looks like an accepted socket from there.

Browsers repeat their fields word for word on one connection. What a stream's conversation was admitted and answered
a moment ago is done for the next one as an errand (`http/errand.py`), by what was learned on this connection alone.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gateway.entries.http2.connection import Served


class Mouth:
    """Says an errand's answer on a stream."""

    family = None

    def __init__(self, exchange: Served) -> None:
        self.exchange = exchange

    def as_socket(self) -> socket.socket:
        """It, for an errand: of a socket's calls that makes only these."""
        return cast("socket.socket", self)

    def send(self, answer: bytes) -> int:
        """Takes it whole."""
        self.exchange.write(answer)
        return len(answer)

    def close(self) -> None:
        """Nothing else will be said: the stream ends with what is said."""
        self.exchange.abort()
