"""What a connection's first bytes say about the protocol its peer speaks. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Final

SNIFF_BYTES: Final = 4
"""No more than this many bytes are needed for a verdict."""

_METHOD_BYTES: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


class Speech(Enum):
    """The protocols a gateway can tell apart."""

    HTTP = "http"
    TLS = "tls"
    SSH = "ssh"
    UNKNOWN = "unknown"


def sniff(first: bytes) -> Speech | None:
    """The protocol that `first` begins, or None when more bytes are needed.

    TLS is a handshake record of any SSL 3/TLS version (RFC 8446, 5.1), SSH its identification string
    (RFC 4253, 4.2), HTTP a method or the empty lines that may precede one (RFC 9112, 2.2 and 3).
    """
    if not first:
        return None
    if first[0] == 0x16:
        return _tls(first)
    if b"SSH-".startswith(first[:SNIFF_BYTES]):
        return Speech.SSH if len(first) >= SNIFF_BYTES else None
    if first[0] in _METHOD_BYTES or first[0] in b"\r\n":
        return Speech.HTTP
    return Speech.UNKNOWN


def _tls(first: bytes) -> Speech | None:
    if len(first) < 2:
        return None
    return Speech.TLS if first[1] == 0x03 else Speech.UNKNOWN
