"""HTTP/1.1 messages of one direction taken apart as their bytes come: heads, content, trailers (RFC 9112, 6 and 7).

Pure. The other side of `http2.py`: what the gateway says in HTTP/1.1 is told by it in HTTP/2's frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from gateway.core import http1
from gateway.core.bodies import Body, Chunked, request_body, response_body
from gateway.core.http1 import Field, RequestHead, ResponseHead

_NOTHING: Final[tuple[Field, ...]] = ()


@dataclass(frozen=True, slots=True)
class End:
    """A message is complete, with these trailers."""

    trailers: tuple[Field, ...]


Part = RequestHead | ResponseHead | bytes | End
"""A head, some content, or the end."""


class Unframer:
    """Takes messages apart, one after the other. Once `raw` is set all that comes is content, and no HTTP any more."""

    __slots__ = ("_body", "_head", "_waiting", "raw")

    def __init__(self, head: Callable[[bytes], tuple[RequestHead | ResponseHead, Body | None]]) -> None:
        """`head` reads a head and gives the follower of its body: None when another head follows (RFC 9110, 15.2)."""
        self.raw = False
        self._head = head
        self._waiting = bytearray()
        self._body: Body | None = None

    @property
    def ends_with_connection(self) -> bool:
        """Whether only an orderly end of the connection completes what has begun."""
        return self.raw or (self._body is not None and self._body.ends_with_connection)

    @property
    def is_complete(self) -> bool:
        """Whether the message whose head was told last has no content."""
        return self._body is not None and self._body.done and not self.raw

    def feed(self, data: bytes) -> Iterator[Part]:
        """The parts that `data` completes. Raises Malformed."""
        while data or (self._body is not None and self._body.done):
            if self.raw:
                if data:
                    yield data
                return
            if self._body is None:
                self._waiting += data
                end = http1.head_end(self._waiting)
                if end < 0:
                    return
                head, self._body = self._head(bytes(self._waiting[:end]))
                data = bytes(self._waiting[end:])
                self._waiting.clear()
                yield head
                continue
            count = self._body.feed(data)
            content, data = self._body.payload(data[:count]), data[count:]
            if content:
                yield content
            if self._body.done:
                trailers = tuple(self._body.trailers) if isinstance(self._body, _Trailing) else _NOTHING
                self._body = None
                yield End(trailers)


def responses(method: bytes) -> Unframer:
    """Takes the responses to one `method` request apart: interim ones, and the final one."""

    def head(raw: bytes) -> tuple[ResponseHead, Body | None]:
        answer = http1.parse_response(raw)
        if answer.status < 200 and answer.status != http1.SWITCHING:
            return answer, None
        return answer, _trailing(response_body(answer, method))

    return Unframer(head)


def requests() -> Unframer:
    """Takes requests apart."""

    def head(raw: bytes) -> tuple[RequestHead, Body | None]:
        asked = http1.parse_request(raw)
        return asked, _trailing(request_body(asked))

    return Unframer(head)


class _Trailing(Chunked):
    """Follows a chunked body and keeps its trailers."""

    __slots__ = ("trailers",)

    def __init__(self) -> None:
        super().__init__()
        self.trailers: list[Field] = []

    def _take_trailer(self, line: bytes) -> None:
        super()._take_trailer(line)
        if line:
            self.trailers.append(http1.parse_field(line))


def _trailing(body: Body) -> Body:
    return _Trailing() if isinstance(body, Chunked) else body
