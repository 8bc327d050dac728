"""A TLS ClientHello read before the handshake: the server name and protocols that its sender asks for. Pure.

Reads RFC 8446 (5.1 records, 4.1.2 ClientHello), RFC 6066 (3, server_name) and RFC 7301 (ALPN). The
bytes stay where they are: the TLS library reads them again and judges everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HELLO_LIMIT: Final = 16 * 1024
"""Bytes of records that a ClientHello may take; browsers with post-quantum key shares need about 2 KiB."""

_HANDSHAKE: Final = 0x16
_CLIENT_HELLO: Final = 0x01
_RECORD_HEAD: Final = 5
_MESSAGE_HEAD: Final = 4
_EXTENSION_HEAD: Final = 4
_SERVER_NAME: Final = 0
_ALPN: Final = 16
_HOST_NAME: Final = 0


@dataclass(frozen=True, slots=True)
class Hello:
    """What a client asked for. `server_name` is lower case, without a final dot; None when it named no host."""

    server_name: str | None
    alpn: tuple[bytes, ...]


def read_hello(records: bytes) -> Hello | None:
    """The ClientHello that `records` begins with, or None while it is incomplete.

    Raises ValueError for bytes that are not a ClientHello, or one over HELLO_LIMIT.
    """
    message = _handshake_bytes(records)
    if len(message) < _MESSAGE_HEAD:
        return None
    if message[0] != _CLIENT_HELLO:
        raise ValueError("the first handshake message is not a ClientHello")
    length = int.from_bytes(message[1:_MESSAGE_HEAD], "big")
    if length > HELLO_LIMIT:
        raise ValueError("the ClientHello is too long")
    if len(message) < _MESSAGE_HEAD + length:
        return None
    return _client_hello(_Reader(message[_MESSAGE_HEAD : _MESSAGE_HEAD + length]))


def _handshake_bytes(records: bytes) -> bytes:
    """The handshake bytes of the leading records, one of which may be incomplete."""
    message, at = b"", 0
    while at + _RECORD_HEAD <= len(records) and len(message) <= HELLO_LIMIT + _MESSAGE_HEAD:
        length = int.from_bytes(records[at + 3 : at + 5], "big")
        if records[at] != _HANDSHAKE or records[at + 1] != 0x03 or not 0 < length <= HELLO_LIMIT:
            raise ValueError("not a TLS handshake record")
        message += records[at + _RECORD_HEAD : at + _RECORD_HEAD + length]
        at += _RECORD_HEAD + length
        if _holds_whole_message(message):
            break  # what follows the first message is not ours to judge
    return message


def _holds_whole_message(message: bytes) -> bool:
    return len(message) >= _MESSAGE_HEAD and len(message) - _MESSAGE_HEAD >= int.from_bytes(message[1:4], "big")


def _client_hello(body: _Reader) -> Hello:
    body.take(2 + 32)  # legacy_version, random
    body.vector(1)  # legacy_session_id
    body.vector(2)  # cipher_suites
    body.vector(1)  # legacy_compression_methods
    extensions = body.vector(2) if body.more() else b""
    name: str | None = None
    alpn: tuple[bytes, ...] = ()
    at, end = 0, len(extensions)
    while at < end:  # without a reader: every handshake comes by here, with a dozen of them
        if at + _EXTENSION_HEAD > end:
            raise ValueError("the ClientHello ends inside an extension's head")
        kind = extensions[at] << 8 | extensions[at + 1]
        start = at + _EXTENSION_HEAD
        at = start + (extensions[at + 2] << 8 | extensions[at + 3])
        if at > end:
            raise ValueError("the ClientHello ends inside an extension")
        if kind == _SERVER_NAME:
            name = _server_name(_Reader(extensions[start:at]))
        elif kind == _ALPN:
            alpn = _protocols(_Reader(extensions[start:at]))
    return Hello(name, alpn)


def _server_name(content: _Reader) -> str | None:
    names = _Reader(content.vector(2))
    while names.more():
        kind, name = names.take(1)[0], names.vector(2)
        if kind == _HOST_NAME:
            return name.decode("ascii").lower().removesuffix(".") or None
    return None


def _protocols(content: _Reader) -> tuple[bytes, ...]:
    names, found = _Reader(content.vector(2)), []
    while names.more():
        found.append(names.vector(1))
    return tuple(found)


class _Reader:
    """Bytes read from the front; asking for more than there are is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._data)

    def take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise ValueError("the ClientHello ends inside a field")
        taken, self._at = self._data[self._at : end], end
        return taken

    def vector(self, length_bytes: int) -> bytes:
        return self.take(int.from_bytes(self.take(length_bytes), "big"))
