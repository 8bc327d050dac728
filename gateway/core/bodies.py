"""Bodies of HTTP/1.1 messages, followed to their end but not decoded (RFC 9112, 6.3 and 7.1).

Pure. Every byte is relayed as it came; what is refused is any other spelling of the chunked grammar,
behind which a second reader might see another message.
"""

from __future__ import annotations

import re
from typing import Final

from gateway.core.http1 import ONCE, VISIBLE, Malformed, RequestHead, ResponseHead, body_length, parse_field

CHUNK_LINE_LIMIT: Final = 1024
"""Bytes of one chunk-size line with its extensions."""
TRAILER_LIMIT: Final = 16 * 1024
"""Bytes of a trailer section."""

_SIZE: Final = rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?"
_CHUNK_LINE: Final = re.compile(_SIZE)
_WHOLE_CHUNK_LINE: Final = re.compile(_SIZE + rb"\r\n")
_TRAILERS_REFUSED: Final = ONCE | {b"authorization", b"connection", b"cookie", b"expect", b"forwarded", b"upgrade"}
_BODYLESS: Final = frozenset({204, 304})


class Length:
    """Follows a body of a known number of bytes."""

    __slots__ = ("left",)

    def __init__(self, length: int) -> None:
        self.left = length
        """Bytes that are still to come."""

    @property
    def done(self) -> bool:
        """Whether the body has ended."""
        return self.left == 0

    ends_with_connection = False

    def feed(self, data: bytes) -> int:
        """How many bytes of `data` belong to the body."""
        taken = min(self.left, len(data))
        self.left -= taken
        return taken

    def payload(self, data: bytes) -> bytes:
        """The content among the bytes last fed: all of them."""
        return data


class UntilClose:
    """Follows a body that only the connection's orderly end completes (RFC 9112, 6.3, the last rule)."""

    __slots__ = ()
    done = False
    ends_with_connection = True

    def feed(self, data: bytes) -> int:
        """All of `data` belongs to the body."""
        return len(data)

    def payload(self, data: bytes) -> bytes:
        """The content among the bytes last fed: all of them."""
        return data


class Chunked:
    """Follows a chunked body and its trailers (RFC 9112, 7.1), refusing every other spelling of the grammar.

    One that holds more than `limit` bytes of content is Malformed too, and `over` tells it apart.
    """

    __slots__ = ("_left", "_line", "_room", "_spans", "_trailer_bytes", "_want", "done", "over")
    ends_with_connection = False

    def __init__(self, limit: int | None = None) -> None:
        self.done = False
        self.over = False
        self._room = limit
        self._want = "size"
        self._left = 0
        self._line = b""
        self._trailer_bytes = 0
        self._spans: list[tuple[int, int]] = []

    def feed(self, data: bytes) -> int:
        """How many bytes of `data` belong to the body. Raises Malformed; nothing may be relayed after that."""
        at = 0
        self._spans.clear()
        while at < len(data) and not self.done:
            if self._want == "size" and not self._line:
                at = self._whole_chunks(data, at)
            at = self._content(data, at) if self._want == "data" else self._control_line(data, at)
        return at

    def payload(self, data: bytes) -> bytes:
        """The content among the bytes last fed, without the chunk framing."""
        return b"".join(data[start:end] for start, end in self._spans)

    def _whole_chunks(self, data: bytes, at: int) -> int:
        """Passes over the good chunks that are all there: a read may hold thousands of small ones.

        Whatever is not exactly so, the last one too, is left where it is.
        """
        while (line := _WHOLE_CHUNK_LINE.match(data, at)) is not None:
            start = line.end()
            size = int(line[1], 16)
            end = start + size
            if not size or start - at > CHUNK_LINE_LIMIT or data[end : end + 2] != b"\r\n":
                break
            if self._room is not None:
                if size > self._room:
                    break
                self._room -= size
            self._spans.append((start, end))
            at = end + 2
        return at

    def _content(self, data: bytes, at: int) -> int:
        end = min(at + self._left, len(data))
        self._spans.append((at, end))
        self._left -= end - at
        if self._left == 0:
            self._want = "data end"
        return end

    def _control_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at) + 1
        self._line += data[at : end or len(data)]
        if len(self._line) > (TRAILER_LIMIT if self._want == "trailer" else CHUNK_LINE_LIMIT):
            raise Malformed("a line of the chunked framing is too long")
        if not end:
            if self._want == "data end" and self._line != b"\r":
                raise Malformed("a chunk is longer than its size")
            return len(data)
        line, self._line = self._line, b""
        if not line.endswith(b"\r\n"):
            raise Malformed("a line of the chunked framing ends in a bare LF")
        self._take(line[:-2])
        return end

    def _take(self, line: bytes) -> None:
        if self._want == "size":
            match = _CHUNK_LINE.fullmatch(line)
            if match is None:
                raise Malformed("not a chunk-size line")
            self._left = int(match[1], 16)
            self._keep_within()
            self._want = "data" if self._left else "trailer"
        elif self._want == "data end":
            if line:
                raise Malformed("a chunk is longer than its size")
            self._want = "size"
        else:
            self._take_trailer(line)

    def _keep_within(self) -> None:
        if self._room is None:
            return
        self._room -= self._left
        if self._room < 0:
            self.over = True
            raise Malformed("more content than the entry takes")

    def _take_trailer(self, line: bytes) -> None:
        if not line:
            self.done = True
            return
        self._trailer_bytes += len(line) + 2
        field = parse_field(line)
        if self._trailer_bytes > TRAILER_LIMIT or line.translate(None, VISIBLE):
            raise Malformed("the trailer section is too large or holds control bytes")
        name = field.name.replace(b"_", b"-")
        if name in _TRAILERS_REFUSED or name.startswith((b"x-forwarded-", b"x-starlight-")):
            raise Malformed("a trailer field that must stand in the head")


Body = Length | UntilClose | Chunked
"""A follower: `feed` counts the bytes that belong to the body, `done` tells its end."""


def request_body(head: RequestHead, limit: int | None = None) -> Length | Chunked:
    """A follower for the request's body; Length(0) when it has none. Raises Malformed for framing in doubt.

    `limit` holds for a chunked body, whose length nobody knows before.
    """
    length = body_length(head.fields, head.version)
    return Chunked(limit) if length is None else Length(max(length, 0))


def response_body(head: ResponseHead, method: bytes) -> Body:
    """A follower for the body of the response to a `method` request (RFC 9112, 6.3)."""
    if method == b"HEAD" or head.status in _BODYLESS or head.status < 200:
        return Length(0)
    length = body_length(head.fields, head.version)
    if length is None:
        return Chunked()
    return UntilClose() if length < 0 else Length(length)
