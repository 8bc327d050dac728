"""Where the frames of a WebSocket end (RFC 6455, 5.2), so that a tunnel can be closed in the protocol's own words.

Pure. The bytes are relayed untouched; they are only counted, to know when a frame of our own may follow.
"""

from __future__ import annotations

from typing import Final

from gateway.core.refusals import Code, Refusal

_CLOSE: Final = 0x88
_REASON_LIMIT: Final = 123
_CODES: Final = {Code.WITHDRAWN: 1008, Code.RESTARTING: 1012}
_GOING_AWAY: Final = 1001


class FrameEnds:
    """Follows one direction of a WebSocket; a body that only the connection's end completes."""

    __slots__ = ("_head", "_left")
    done = False
    ends_with_connection = True

    def __init__(self) -> None:
        self._head = b""
        self._left = 0

    @property
    def between(self) -> bool:
        """Whether the bytes so far end where a frame does."""
        return not self._head and not self._left

    def feed(self, data: bytes) -> int:
        """All of `data` belongs to the body."""
        if not (self._left or self._head) and _is_a_small_frame(data):
            return len(data)  # what most reads bring
        at = 0
        while at < len(data):
            if self._left:
                skipped = min(self._left, len(data) - at)
                self._left -= skipped
                at += skipped
            else:
                at = self._take_head(data, at)
        return len(data)

    def payload(self, data: bytes) -> bytes:
        """The content among the bytes last fed: all of them."""
        return data

    def _take_head(self, data: bytes, at: int) -> int:
        """Reads on in a frame's head: two bytes, an extended length, a masking key."""
        wanted = _head_bytes(self._head)
        taken = data[at : at + wanted - len(self._head)]
        self._head += taken
        if len(self._head) == _head_bytes(self._head):
            self._left, self._head = _payload_bytes(self._head), b""
        return at + len(taken)


def close_frame(refusal: Refusal) -> bytes:
    """A server's close frame that tells why (RFC 6455, 5.5.1 and 7.4)."""
    reason = str(refusal.code).encode()[:_REASON_LIMIT]
    payload = _CODES.get(refusal.code, _GOING_AWAY).to_bytes(2, "big") + reason
    return bytes([_CLOSE, len(payload)]) + payload


def _is_a_small_frame(data: bytes) -> bool:
    """Whether this is exactly one frame whose length stands in its second byte."""
    if len(data) < 2:
        return False
    second = data[1]
    length = second & 0x7F
    return length < 126 and len(data) == length + (6 if second & 0x80 else 2)


def _head_bytes(head: bytes) -> int:
    """How many bytes the head has, as far as its first bytes tell."""
    if len(head) < 2:
        return 2
    extended = {126: 2, 127: 8}.get(head[1] & 0x7F, 0)
    return 2 + extended + (4 if head[1] & 0x80 else 0)


def _payload_bytes(head: bytes) -> int:
    length = head[1] & 0x7F
    if length == 126:
        return int.from_bytes(head[2:4], "big")
    return int.from_bytes(head[2:10], "big") if length == 127 else length
