"""Answers that are one whole piece: a head that tells its body's length, and the body, in what one read brought.

Apps repeat their heads word for word: what was made of the last one is remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.core import headers, http1
from gateway.core.bodies import Length, response_body
from gateway.core.http1 import Malformed

LIMIT: Final = 16 * 1024
"""Bytes of an answer that a connection's send buffer takes for certain when nothing waits in it."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """A response's head as it came and as it goes on, and the length of its body."""

    came: bytes
    said: bytes
    length: int


class Judge:
    """Judges the answers of one app for one entry's host. State: the last head that was good."""

    __slots__ = ("_closes", "_host", "_last")

    def __init__(self, host: str, *, closes: bool) -> None:
        """`closes` makes each answer the last one of its connection."""
        self._host = host
        self._closes = closes
        self._last: _Judged | None = None

    def answer(self, data: bytes) -> bytes | None:
        """What to say for an answer to a GET that is whole and leaves upstream usable; None for any other.

        Nothing (`b""`) for one that may become such when more of it has come.
        """
        end = data.find(b"\r\n\r\n") + 4
        if end < 4:
            return b"" if len(data) < LIMIT else None
        head = data[:end]
        last = self._last
        if last is None or last.came != head:
            last = self._last = self._judge(head) or last
        if last is None or last.came != head or len(data) - end > last.length:
            return None
        return last.said + data[end:] if len(data) - end == last.length else b""

    def _judge(self, head: bytes) -> _Judged | None:
        try:
            answer = http1.parse_response(head)
        except Malformed:
            return None  # the conversation meets it again, and tells
        body = response_body(answer, b"GET")
        if answer.status < 200 or not isinstance(body, Length) or not http1.keeps_alive(answer):
            return None
        length = 0 if body.done else http1.body_length(answer.fields, answer.version) or 0
        return _Judged(head, headers.response_head(answer, self._host, closes=self._closes), length)
