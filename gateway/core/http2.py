"""HTTP/2's fields as HTTP/1.1 heads and back (RFC 9113, 8; RFC 8441), so that one set of rules judges both.

Pure. A message is refused here where its fields could become something else in the other version: a line
end in a value, a second Host, a field that belongs to one connection. Everything else is left to
`http1.parse_request` and `parse_response`, which read each head that is made here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Final

from gateway.core.http1 import HEAD_LIMIT, VISIBLE, Field, Fields, Malformed, RequestHead, ResponseHead

Header = tuple[bytes, bytes]
"""A field as HTTP/2 carries it: its name in lower case, and its value."""

_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_METHOD: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PATH: Final = re.compile(rb"(?:/[\x21-\x7e\x80-\xff]*|\*)")
_DIGITS: Final = re.compile(rb"\d{1,18}")
_STATUS: Final = re.compile(rb"[1-9]\d\d")
_REQUEST_PSEUDO: Final = frozenset({b":method", b":scheme", b":authority", b":path", b":protocol"})
_OF_ONE_CONNECTION: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
_CARRIES_CONTENT: Final = frozenset({b"POST", b"PUT", b"PATCH"})
_BODYLESS: Final = frozenset({b"204", b"304"})
_SPELT: Final = {
    b"Dnt": b"DNT",
    b"Etag": b"ETag",
    b"Te": b"TE",
    b"Www-Authenticate": b"WWW-Authenticate",
}
_REMEMBERED_LIMIT: Final = 4096
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True, slots=True)
class Opening:
    """The head of a message as HTTP/1.1 writes it. `chunked` tells that its content goes in chunks.

    `accept` is the answer that a WebSocket asked for here must bring (RFC 6455, 4.2.2), `length` how much content
    was announced.
    """

    head: bytes
    chunked: bool
    method: bytes = b""
    accept: bytes | None = None
    length: int | None = None


def request_opening(headers: Iterable[Header], *, ended: bool, nonce: bytes) -> Opening:
    """The head of a request; `ended` tells that nothing follows it, `nonce` are 16 random bytes. Raises Malformed.

    A stream carries one request: the head says that it is the last of its connection.
    """
    told, size, at = tuple(headers), 0, -1
    for place, (name, value) in enumerate(told):
        size += len(name) + len(value)
        if name == b":path":
            at = place
    if at < 0 or size > _REMEMBERED_LIMIT:
        return _request_opening(told, ended, nonce)
    path = told[at][1]
    if not _PATH.fullmatch(path):
        raise Malformed("a :path that is no path")
    around = _remembered_around(told[:at], told[at + 1 :], ended)
    if around is None:
        return _request_opening(told, ended, nonce)
    before, after, like = around
    return Opening(before + path + after, like.chunked, like.method, length=like.length)


def _around(before: tuple[Header, ...], after: tuple[Header, ...], ended: bool) -> tuple[bytes, bytes, Opening] | None:
    """The head of a request before and after its path; None for one that is new each time. Raises Malformed."""
    if (b":method", b"CONNECT") in before or (b":method", b"CONNECT") in after:
        return None
    like = _request_opening((*before, (b":path", b"/"), *after), ended, b"")
    line = like.head.find(b" /") + 1
    return like.head[:line], like.head[line + 1 :], like


_remembered_around: Final = lru_cache(maxsize=256)(_around)
"""Clients repeat their fields word for word: what was made of them a moment ago is not made again."""


def _request_opening(headers: Iterable[Header], ended: bool, nonce: bytes) -> Opening:
    pseudo, fields = _split(headers, _REQUEST_PSEUDO)
    method, path = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    if pseudo.get(b":scheme") not in (b"http", b"https") or not _METHOD.fullmatch(method):
        raise Malformed("a request without a method or scheme")
    if not _PATH.fullmatch(path):
        raise Malformed("a :path that is no path")
    host = _host(pseudo, fields)
    lines = [name + b": " + value for name, value in _request_fields(fields)]
    length = _one(fields, b"content-length")
    if method == b"CONNECT":
        return _socket_opening(pseudo, host, lines, ended=ended or length is not None, nonce=nonce)
    if b":protocol" in pseudo:
        raise Malformed(":protocol without CONNECT")
    chunked = False
    if ended:
        if length not in (None, b"0"):
            raise Malformed("content was announced and did not come")
        if length is None and method in _CARRIES_CONTENT:
            lines.append(b"Content-Length: 0")
    elif length is None:
        chunked = True
        lines.append(b"Transfer-Encoding: chunked")
    return Opening(
        _head(method, path, host, [*lines, b"Connection: close"]), chunked, method, length=_announced(length)
    )


def response_opening(headers: Iterable[Header], *, ended: bool, method: bytes) -> Opening:
    """The head of the response to a `method` request. Raises Malformed."""
    pseudo, fields = _split(headers, frozenset({b":status"}))
    status = pseudo.get(b":status", b"")
    if not _STATUS.fullmatch(status) or status == b"101":
        raise Malformed("a response without a status, or one that HTTP/2 does not have")
    lines = [_spelt(name) + b": " + value for name, value in fields]
    length = _one(fields, b"content-length")
    chunked, due = False, None
    if status[:1] != b"1" and status not in _BODYLESS and method != b"HEAD":
        if ended and length is None:
            lines.append(b"Content-Length: 0")
        elif not ended and length is None:
            chunked = True
            lines.append(b"Transfer-Encoding: chunked")
        due = _announced(length)
    head = b"\r\n".join([b"HTTP/1.1 " + status + b" ", *lines, b"", b""])
    return Opening(head, chunked, method, length=due)


def trailer_lines(headers: Iterable[Header]) -> bytes:
    """Trailers as they end a chunked body, each line with its end. Raises Malformed."""
    _, fields = _split(headers, frozenset())
    return b"".join(name + b": " + value + b"\r\n" for name, value in fields)


def request_headers(head: RequestHead) -> list[Header]:
    """The fields of a request to an app that speaks HTTP/2. It is told that trailers are welcome."""
    pseudo = [(b":method", head.method), (b":scheme", b"http"), (b":authority", head.host), (b":path", head.target)]
    return [*pseudo, *_travelling(head.fields, b"host"), (b"te", b"trailers")]


def response_headers(head: ResponseHead) -> list[Header]:
    """The fields of a response to a person whose browser speaks HTTP/2."""
    return [(b":status", b"%d" % head.status), *_travelling(head.fields)]


def trailer_headers(fields: Sequence[Field]) -> list[Header]:
    """The trailers of a body."""
    return [(field.name, field.value) for field in fields if field.name not in _OF_ONE_CONNECTION]


def _travelling(fields: Fields, *but: bytes) -> list[Header]:
    return [
        (field.name, field.value)
        for field in fields.lines
        if field.name not in _OF_ONE_CONNECTION and field.name not in but
    ]


def _split(headers: Iterable[Header], known: frozenset[bytes]) -> tuple[dict[bytes, bytes], list[Header]]:
    """Pseudo-header fields, each at most once and before all others, and the others (RFC 9113, 8.2 and 8.3)."""
    pseudo: dict[bytes, bytes] = {}
    fields: list[Header] = []
    size = 0
    for name, value in headers:
        size += len(name) + len(value) + 4
        if size > HEAD_LIMIT:
            raise Malformed("the head is too large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        if value.translate(None, VISIBLE) or value.strip(b" \t") != value:
            raise Malformed("control bytes in a value, or blanks around it")
        if name.startswith(b":"):
            if fields or name in pseudo or name not in known:
                raise Malformed("a pseudo-header field out of place")
            pseudo[name] = value
            continue
        _check_name(name)
        if name == b"te" and value.lower() != b"trailers":
            raise Malformed("TE says more than HTTP/2 knows")
        fields.append((name, value))
    return pseudo, fields


@lru_cache(maxsize=1024)
def _check_name(name: bytes) -> None:
    if not _NAME.fullmatch(name):
        raise Malformed("a field name that is no token in lower case")
    if name in _OF_ONE_CONNECTION:
        raise Malformed("a field of one connection")


def _host(pseudo: dict[bytes, bytes], fields: list[Header]) -> bytes:
    """The one authority of a request: what :authority and Host name, which must not differ (RFC 9113, 8.3.1)."""
    named = {value.lower() for name, value in fields if name == b"host"}
    authority = pseudo.get(b":authority", b"")
    if authority:
        named.add(authority.lower())
    if len(named) != 1:
        raise Malformed("no authority, or two that differ")
    return authority or next(value for name, value in fields if name == b"host")


def _request_fields(fields: list[Header]) -> list[Header]:
    """The fields with their names spelt as HTTP/1.1 programs do, crumbs of cookies put together (RFC 9113, 8.2.3)."""
    crumbs = [value for name, value in fields if name == b"cookie"]
    put = [(_spelt(name), value) for name, value in fields if name not in (b"cookie", b"host")]
    return [*put, (b"Cookie", b"; ".join(crumbs))] if crumbs else put


def _one(fields: list[Header], name: bytes) -> bytes | None:
    return next((value for key, value in fields if key == name), None)


def _announced(length: bytes | None) -> int | None:
    """What a Content-Length says; who reads the head refuses one that says nothing."""
    return int(length) if length is not None and _DIGITS.fullmatch(length) else None


@lru_cache(maxsize=1024)
def _spelt(name: bytes) -> bytes:
    """A name as it is usually written: picky apps look for `Sec-WebSocket-Key` and take no other spelling."""
    title = b"-".join(word.capitalize() for word in name.split(b"-"))
    return _SPELT.get(title, title.replace(b"Sec-Websocket-", b"Sec-WebSocket-"))


def _socket_opening(
    pseudo: dict[bytes, bytes], host: bytes, lines: list[bytes], *, ended: bool, nonce: bytes
) -> Opening:
    """The opening of a WebSocket, which HTTP/2 asks for by extended CONNECT (RFC 8441, 5)."""
    if pseudo.get(b":protocol") != b"websocket":
        raise Malformed("CONNECT is for forward proxies", HTTPStatus.NOT_IMPLEMENTED)
    if ended:
        raise Malformed("a WebSocket that has ended before it began")
    key = base64.b64encode(nonce)
    kept = [line for line in lines if not line.startswith((b"Sec-WebSocket-Key:", b"Content-Length:"))]
    asked = [b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Key: " + key]
    accept = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    return Opening(_head(b"GET", pseudo[b":path"], host, [*kept, *asked]), False, b"GET", accept)


def _head(method: bytes, path: bytes, host: bytes, lines: list[bytes]) -> bytes:
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", b"Host: " + host, *lines, b"", b""])
