"""One HTTP/2 stream, seen from inside as the transport of an HTTP/1.1 connection.

Whatever serves HTTP/1.1 (conversations, passages, tunnels) serves it unchanged: what is written here as
HTTP/1.1 leaves as frames, and frames that come are handed in as HTTP/1.1. So one place decides who may pass,
what is said to apps and people, and when a visit is cut, in both versions.

State: what waits to be sent, at most OUT_HIGH and one read of the other side; what came while nobody had
room for it, at most the stream's window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from h2.errors import ErrorCodes

from gateway.core import http2
from gateway.core.http1 import Malformed
from gateway.core.messages import Part, Unframer
from gateway.entries.http.stream import Stream

if TYPE_CHECKING:
    from gateway.entries.http2.link import Link

OUT_HIGH: Final = 64 * 1024
"""Bytes that wait to be sent before whoever writes them is asked to stop."""
OUT_LOW: Final = 16 * 1024


class Sending(Enum):
    """How far our direction of the stream has come."""

    OPEN = "more may be written"
    ENDING = "all of it is written, and waits to be sent"
    ENDED = "all of it is sent"
    RESET = "it broke off"


class Exchange(asyncio.Transport):
    """A stream of `link`; `inside` takes it for a connection. Its two kinds say which messages go which way."""

    def __init__(self, link: Link, inside: Stream, writes: Unframer, stream_id: int = 0) -> None:
        """`writes` takes apart what is written. A stream_id of 0: the stream begins with the first message."""
        super().__init__()
        self.stream_id = stream_id
        self.out = bytearray()
        self.sending = Sending.OPEN
        self.trailers: Sequence[http2.Header] = ()
        self.queued = False
        self.moved_at = link.loop.time()
        self.received_all = False
        self.gone = False
        self._link = link
        self._inside = inside
        self._writes = writes
        self._chunked = False
        self._deaf = False
        self._holds = False
        self._held = bytearray()
        self._held_flow = 0
        self._tail = b""
        self._due: int | None = None
        self._clogged = False
        self._closed = False
        inside.connection_made(self)

    # What the link tells.

    def take(self, content: bytes, flow: int) -> None:
        """Content came, `flow` bytes of the stream's window."""
        if self._due is not None:
            self._due -= len(content)
        if self._deaf or self._holds:
            self._holds = True
            self._held += content
            self._held_flow += flow
        else:
            self._hand_in(content, flow)

    def take_trailers(self, headers: Sequence[http2.Header]) -> None:
        """The last fields of the message came; take_end() follows. Raises Malformed.

        Here the library does not see that content is missing, and whoever is inside would wait for it.
        """
        if self._due:
            raise Malformed("less content than was announced")
        self._tail = http2.trailer_lines(headers)

    def take_end(self) -> None:
        """The peer's direction is complete."""
        self.received_all = True
        if self._deaf:
            self._holds = True
        elif not self._holds:
            self._hand_in_end()

    def sent(self) -> None:
        """Some bytes of `out` left."""
        self.moved_at = self._link.loop.time()
        if self._clogged and len(self.out) <= OUT_LOW:
            self._clogged = False
            self._inside.resume_writing()

    def sent_all(self) -> None:
        """Our direction is complete."""
        self.sending = Sending.ENDED
        if self._closed:
            self._link.loop.call_soon(self.lose)

    def lose(self) -> None:
        """The stream is no more: whoever is inside loses its connection."""
        if self.gone:
            return
        self.gone = True
        if self.sending is not Sending.ENDED:
            self.sending = Sending.RESET
        self.out.clear()
        self._held.clear()
        self._link.acknowledge(self, self._held_flow)
        self._link.forget(self)
        self._inside.connection_lost(None)

    # A transport, for whoever is inside.

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Takes HTTP/1.1."""
        try:
            for part in self._writes.feed(bytes(data)):
                if self.sending is Sending.OPEN:
                    self._say(part)
        except Malformed:  # an app's body that breaks its own framing: nobody may take it for the whole
            self.abort()
        if len(self.out) > OUT_HIGH and not self._clogged:
            self._clogged = True
            self._inside.pause_writing()

    def write_eof(self) -> None:
        """Ends our direction: in order when that completes what was written, else the stream is reset."""
        if self.sending is Sending.OPEN:
            if self._writes.ends_with_connection:
                self._end(())
            else:
                self._reset()

    def close(self) -> None:
        """The same, and the end of the connection once everything is sent."""
        self._closed = True
        self.write_eof()
        if self.sending is not Sending.ENDING:
            self._link.loop.call_soon(self.lose)

    def abort(self) -> None:
        """Resets the stream, unless all of our direction is written: that is still sent."""
        self._closed = True
        if self.sending is Sending.OPEN:
            self._reset()
        if self.sending is not Sending.ENDING:
            self._link.loop.call_soon(self.lose)

    def is_closing(self) -> bool:
        """Whether the connection ends soon, or has."""
        return self.gone or self._closed

    def can_write_eof(self) -> bool:
        """A stream's directions end one by one."""
        return True

    def pause_reading(self) -> None:
        """What comes waits here, and the peer's window shrinks."""
        self._deaf = True

    def resume_reading(self) -> None:
        """What waited is handed in soon, as every transport does: whoever asks is in the midst of something."""
        self._deaf = False
        if self._holds:
            self._link.loop.call_soon(self._hand_in_held)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """OUT_HIGH and OUT_LOW are the limits."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The peer's address; there is no socket of its own."""
        return self._link.peername if name == "peername" else default

    # For the two kinds.

    def _say(self, part: Part) -> None:
        """Sends one part of what was written."""
        raise NotImplementedError

    def _content(self, content: bytes) -> None:
        if content:
            self.out += content
            self._link.ready(self)

    def _end(self, trailers: Sequence[http2.Header]) -> None:
        self.sending, self.trailers = Sending.ENDING, trailers
        self.moved_at = self._link.loop.time()  # however long it rested before: from now on it has its time
        self._link.ready(self)

    def _reset(self, code: ErrorCodes = ErrorCodes.INTERNAL_ERROR) -> None:
        self.sending = Sending.RESET
        self.out.clear()
        self._link.reset(self, code)

    def _open(self, opening: http2.Opening) -> None:
        """Hands in the head of a message that came."""
        self._chunked, self._tail, self._due = opening.chunked, b"", opening.length
        self._inside.data_received(opening.head)

    def _hand_in(self, content: bytes, flow: int) -> None:
        self._link.acknowledge(self, flow)
        if content:
            self._inside.data_received(b"%x\r\n%b\r\n" % (len(content), content) if self._chunked else content)

    def _hand_in_held(self) -> None:
        if self._deaf or self.gone or not self._holds:
            return
        content, flow = bytes(self._held), self._held_flow
        self._held.clear()
        self._held_flow = 0
        self._hand_in(content, flow)
        if not self._deaf:
            self._holds = False
            if self.received_all:
                self._hand_in_end()

    def _hand_in_end(self) -> None:
        """The end of a chunked body, or of a tunnel; that of any other body was known before."""
        if self._chunked:
            self._chunked = False
            self._inside.data_received(b"0\r\n" + self._tail + b"\r\n")
        elif self._writes.raw and not self._inside.eof:
            self._inside.eof_received()
