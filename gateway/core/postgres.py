"""PostgreSQL's opening before TLS: what a client asks for in its first packet, and how it is told no. Pure.

A client that wants TLS first sends SSLRequest (or GSSENCRequest, then SSLRequest) in the clear and waits
for one byte (PostgreSQL protocol 3.0, "SSL Session Encryption"); newer ones may begin with TLS at once.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

REQUEST_BYTES: Final = 8
"""The length of SSLRequest and of GSSENCRequest."""
TLS_FOLLOWS: Final = b"S"
NO_GSSENC: Final = b"N"
_SSL: Final = bytes.fromhex("00000008 04d2162f")
_GSSENC: Final = bytes.fromhex("00000008 04d21630")
_CANCEL: Final = bytes.fromhex("00000010 04d2162e")
_PROTOCOL_3: Final = b"\0\x03"


class Opening(Enum):
    """What the first bytes of a connection are in PostgreSQL's tongue."""

    SSL = "it asks whether TLS may follow"
    GSSENC = "it asks whether GSSAPI encryption may follow"
    PLAIN = "it begins a session without encryption"
    CANCEL = "it asks to cancel a query, naming no host"
    OTHER = "it does not speak PostgreSQL"


def read_opening(first: bytes) -> Opening | None:
    """What `first` begins with; None while more bytes are needed to tell (never more than REQUEST_BYTES)."""
    head = first[:REQUEST_BYTES]
    for packet, opening in ((_SSL, Opening.SSL), (_GSSENC, Opening.GSSENC), (_CANCEL, Opening.CANCEL)):
        if head == packet:
            return opening
    if head[:2] != b"\0\0"[: len(head)]:
        return Opening.OTHER  # a startup packet is shorter than 64 KiB, and nothing else begins with zeros
    if len(head) < REQUEST_BYTES:
        return None
    return Opening.PLAIN if head[4:6] == _PROTOCOL_3 else Opening.OTHER


def error_response(sentence: str) -> bytes:
    """The message by which a server refuses a session (ErrorResponse, SQLSTATE 28000, invalid authorisation)."""
    fields = (b"SFATAL", b"VFATAL", b"C28000", b"M" + sentence.replace("\0", "").encode())
    body = b"".join(field + b"\0" for field in fields) + b"\0"
    return b"E" + (len(body) + 4).to_bytes(4, "big") + body
