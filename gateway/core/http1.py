"""HTTP/1.1 heads, strict (RFC 9112): what two parsers could read in two ways is refused.

Pure. A head keeps every field line and the request-target as the bytes that came, so that forwarding
changes nothing by accident.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a request or response head, the blank line included."""
CONTINUE: Final = 100
SWITCHING: Final = 101
_REMEMBERED_LIMIT: Final = 4096
HTTP_1_0: Final = 10
HTTP_1_1: Final = 11

_TOKEN: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_NAME: Final = re.compile(_TOKEN)
_PROTOCOL: Final = re.compile(_TOKEN + rb"(?:/" + _TOKEN + rb")?")
VISIBLE: Final = bytes([*range(0x20, 0x7F), *range(0x80, 0x100), 0x09])
"""What may stand in a line; deleting these from a head and looking at the rest is the fastest check there is."""
_REQUEST_LINE: Final = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e\x80-\xff]+) HTTP/(\d)\.(\d)")
_PLAIN_GET: Final = re.compile(rb"GET (/[\x21\x22\x24-\x7e\x80-\xff]*) HTTP/1\.1")
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?")
_ABSOLUTE: Final = re.compile(rb"[Hh][Tt][Tt][Pp][Ss]?://([^/?@]+)([/?].*)?", re.DOTALL)
_HOST: Final = re.compile(rb"([0-9A-Za-z._~-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?")
_LENGTH: Final = re.compile(rb"\d{1,18}")

ONCE: Final = frozenset({b"host", b"content-length", b"transfer-encoding"})
"""Fields whose repetition would let two readers disagree."""


class Malformed(ValueError):
    """A message that is not forwarded; `status` answers the person's side, the text is for the log."""

    def __init__(self, reason: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(reason)
        self.status = status


class Field(NamedTuple):
    """One field line: its name in lower case, its value without outer blanks, and the line as it came."""

    name: bytes
    value: bytes
    line: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """A head's field lines in order, and their values by name; several of one name are joined by commas."""

    lines: tuple[Field, ...]
    values: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request's head. `target` is in origin-form or `*`, byte for byte; `host` the Host field as sent."""

    method: bytes
    target: bytes
    version: int
    host: bytes
    fields: Fields

    def value(self, name: bytes) -> bytes | None:
        """The field's value, or None; several lines are joined by commas (RFC 9110, 5.2)."""
        return self.fields.values.get(name)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """A response's head; `reason` is what followed the status code."""

    status: int
    reason: bytes
    version: int
    fields: Fields

    def value(self, name: bytes) -> bytes | None:
        """The field's value, or None; several lines are joined by commas (RFC 9110, 5.2)."""
        return self.fields.values.get(name)


def head_end(buffer: bytes | bytearray, start: int = 0) -> int:
    """Where the head in `buffer` ends (past the blank line), or -1 while it is incomplete.

    Bytes before `start` were searched by an earlier call. Raises Malformed for a line that ends in a
    bare LF (a lenient reader would see another head) and for a head over HEAD_LIMIT.
    """
    end = buffer.find(b"\r\n\r\n", max(0, start - 3))
    stop = end if end >= 0 else len(buffer)
    if buffer.count(b"\n", start, stop) != buffer.count(b"\r\n", max(0, start - 1), stop):
        raise Malformed("a line of the head ends in a bare LF")
    if end > HEAD_LIMIT - 4 or (end < 0 and len(buffer) > HEAD_LIMIT):
        raise Malformed("the head is too large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
    return end + 4 if end >= 0 else -1


def empty_lines(buffer: bytes | bytearray) -> int:
    """How many bytes of empty lines stand before the head; they are passed over (RFC 9112, 2.2)."""
    at = 0
    while buffer[at : at + 2] == b"\r\n":
        at += 2
    return at


def parse_request(head: bytes) -> RequestHead:
    """The request whose head, up to and with the blank line, is `head`. Raises Malformed."""
    line, fields = _parse_head(head)
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise Malformed("not a request line")
    method, target, major, minor = match.groups()
    if major != b"1" or minor not in b"01":
        raise Malformed("only HTTP/1.0 and HTTP/1.1 are spoken here", HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    version = HTTP_1_1 if minor == b"1" else HTTP_1_0
    host = fields.values.get(b"host", b"")
    split_host(host)
    if method == b"CONNECT":
        raise Malformed("CONNECT is for forward proxies", HTTPStatus.NOT_IMPLEMENTED)
    body_length(fields, version)
    return RequestHead(method, _origin_form(method, target, host), version, host, fields)


def plain_get(line: bytes) -> bytes | None:
    """The target when this is the first line of a GET in origin-form; None for every other line, also a good one."""
    match = _PLAIN_GET.fullmatch(line)
    return None if match is None else match[1]


def parse_response(head: bytes) -> ResponseHead:
    """The response whose head, up to and with the blank line, is `head`. Raises Malformed (502)."""
    try:
        line, fields = _parse_head(head)
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise Malformed("not a status line")
        version = HTTP_1_1 if match[1] == b"1" else HTTP_1_0
        body_length(fields, version)
    except Malformed as fault:
        raise Malformed(str(fault), HTTPStatus.BAD_GATEWAY) from fault
    return ResponseHead(int(match[2]), match[3] or b"", version, fields)


@lru_cache(maxsize=1024)
def split_host(host: bytes) -> tuple[str, int | None]:
    """A Host value's name, in lower case without a final dot, and its port. Raises Malformed."""
    match = _HOST.fullmatch(host)
    if match is None:
        raise Malformed("exactly one Host with a host and an optional port is required")
    port = match[2]
    return match[1].decode("ascii").lower().removesuffix("."), int(port) if port else None


def tokens(value: bytes | None) -> tuple[bytes, ...]:
    """The members of a comma-separated list, in lower case; none for None."""
    return tuple(part for part in (part.strip(b" \t").lower() for part in (value or b"").split(b",")) if part)


def keeps_alive(head: RequestHead | ResponseHead) -> bool:
    """Whether the peer will take another message on this connection (RFC 9112, 9.3).

    HTTP/1.0's own keep-alive is not taken up: it is the one persistence that old proxies got wrong.
    """
    named = head.value(b"connection")
    return head.version == HTTP_1_1 and (named is None or b"close" not in tokens(named))


def upgrade_of(head: RequestHead) -> bytes | None:
    """The one protocol that a request wants to switch to, as sent, or None (RFC 9110, 7.8).

    Offers of HTTP itself (h2c) and of TLS are passed over: behind them requests would be unseen by us.
    """
    offer = head.value(b"upgrade")
    if offer is None or head.version != HTTP_1_1 or b"upgrade" not in tokens(head.value(b"connection")):
        return None
    protocol = offer.partition(b"/")[0].lower()
    if not _PROTOCOL.fullmatch(offer) or protocol in (b"h2c", b"h2", b"http", b"tls"):
        return None
    return offer if body_length(head.fields, head.version) in (0, -1) else None


def body_length(fields: Fields, version: int) -> int | None:
    """The length of a body in bytes; None when it is chunked, -1 when no field tells (RFC 9112, 6).

    Raises Malformed for framing that two readers could take differently.
    """
    coding, length = fields.values.get(b"transfer-encoding"), fields.values.get(b"content-length")
    if coding is not None:
        if length is not None or version != HTTP_1_1:
            raise Malformed("Transfer-Encoding beside Content-Length, or in HTTP/1.0")
        if coding.lower() != b"chunked":
            raise Malformed("a transfer coding other than chunked", HTTPStatus.NOT_IMPLEMENTED)
        return None
    if length is None:
        return -1
    if not _LENGTH.fullmatch(length):
        raise Malformed("Content-Length is not a number")
    return int(length)


def _parse_head(head: bytes) -> tuple[bytes, Fields]:
    end = head.find(b"\r\n")
    line, block = head[:end], head[end:]
    if line.translate(None, VISIBLE):
        raise Malformed("control bytes in the first line")
    return line, _remembered_fields(block) if len(block) <= _REMEMBERED_LIMIT else _parse_fields(block)


def _parse_fields(block: bytes) -> Fields:
    """The fields of a head after its first line: each line preceded by CRLF, and the blank line."""
    _, *lines = block[:-4].split(b"\r\n")
    if len(block.translate(None, VISIBLE)) != 2 * len(lines) + 4:
        raise Malformed("control bytes in the head")  # anything but the line ends
    fields = tuple(map(parse_field, lines))
    return Fields(fields, _combined(fields))


_remembered_fields: Final = lru_cache(maxsize=256)(_parse_fields)
"""Clients and apps repeat their fields word for word: what was parsed a moment ago is not parsed again."""


def _combined(fields: Sequence[Field]) -> dict[bytes, bytes]:
    values: dict[bytes, bytes] = {}
    for name, value, _ in fields:
        if name not in values:
            values[name] = value
        elif name in ONCE:
            raise Malformed("Host, Content-Length or Transfer-Encoding stands there twice")
        else:
            values[name] += b", " + value
    return values


def parse_field(line: bytes) -> Field:
    """The field of one line, which holds no line end. Raises Malformed, but does not look for control bytes."""
    name, colon, value = line.partition(b":")
    if not colon:
        raise Malformed("a field line without a colon")
    return Field(_lower_name(name), value.strip(b" \t"), line)


@lru_cache(maxsize=1024)
def _lower_name(name: bytes) -> bytes:
    # A blank before the colon, or a line that begins with one (obs-fold), is no token: RFC 9112, 5.1 and 5.2.
    if not _NAME.fullmatch(name):
        raise Malformed("a field name that is not a token")
    return name.lower()


def _origin_form(method: bytes, target: bytes, host: bytes) -> bytes:
    """The target as an origin server gets it (RFC 9112, 3.2); an absolute one must name the Host it came with."""
    if b"#" in target:
        raise Malformed("a fragment in the request-target")
    if target.startswith(b"/") or (target == b"*" and method == b"OPTIONS"):
        return target
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        raise Malformed("not a request-target")
    authority, path = match[1], match[2] or b""
    if authority.lower() != host.lower():
        raise Malformed("the request-target names another host than the Host field")
    if not path and method == b"OPTIONS":
        return b"*"
    return path if path.startswith(b"/") else b"/" + path
