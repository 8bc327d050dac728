"""One connection's bytes: what comes in waits in a bounded buffer, or flows straight on to another Stream.

State: the buffer, who takes from it and who gives, and whether either side has ended. Nothing is ever
held beyond BUFFER_LIMIT and a transport's own buffer: whoever has no room stops listening.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from gateway.core import http1
from gateway.core.bodies import request_body
from gateway.core.http1 import Malformed, RequestHead
from gateway.wire.relay import reset_on_close, watch_over

if TYPE_CHECKING:
    from gateway.entries.http.errand import Errand
    from gateway.entries.http.flow import Flow
    from gateway.entries.http.joint import Direction
    from gateway.entries.http.lane import Taker

BUFFER_LIMIT: Final = http1.HEAD_LIMIT + 1
"""Bytes that wait unread before the peer is no longer listened to; one more than a head may have."""
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
WRITE_LIMIT: Final = 128 * 1024


class Stream(asyncio.Protocol):
    """A connected peer.

    `moved_at` is the loop's time of the last byte either way; `sent` and `received` count bytes;
    `answered` tells that one came since whoever asks last cleared it; `eof` that the peer ended its side.
    """

    __slots__ = (
        "_accepted",
        "_held",
        "_loop",
        "_on_open",
        "_parted",
        "_paused",
        "_said_all",
        "_sock",
        "_waiters",
        "answered",
        "buffer",
        "clogged",
        "eof",
        "feeder",
        "flow",
        "lost",
        "moved_at",
        "on_lost",
        "received",
        "sent",
        "transport",
    )
    transport: asyncio.Transport

    def __init__(
        self,
        on_open: Callable[[Stream], None] | None = None,
        *,
        sock: socket.socket | None = None,
        accepted: bool = False,
    ) -> None:
        """`sock` is the connection's own, where no TLS is between; one that was `accepted` needs no options set."""
        self.buffer = bytearray()
        self.eof = False
        self.lost = False
        self.clogged = False
        self.moved_at = 0.0
        self.received = 0
        self.sent = 0
        self.answered = False
        self.on_lost: Callable[[], None] | None = None
        self._on_open = on_open
        self._sock = sock
        self._accepted = accepted
        self._said_all = False
        self._parted = False
        self._loop = asyncio.get_running_loop()
        self._waiters: set[asyncio.Future[None]] | None = None
        self.flow: Flow | Taker | Errand | Direction | None = None
        self.feeder: Flow | Direction | None = None
        self._paused = False
        self._held = False

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands: bounds its write buffer and lets the kernel find out when the peer vanishes."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(high=WRITE_LIMIT)
        self.moved_at = self._loop.time()
        sock = None if self._accepted else self._socket()
        if sock is not None:
            watch_over(sock)
        if self._on_open is not None:
            self._on_open(self)

    def data_received(self, data: bytes) -> None:
        """Bytes came: to the flow that takes them, else into the buffer."""
        self.moved_at = self._loop.time()
        self.received += len(data)
        self.answered = True
        flow = self.flow
        if flow is not None:
            flow.take(data)
        else:
            self.unread(data)

    def eof_received(self) -> bool:
        """The peer ended its side in order; ours stays open where it can: a response may be due (RFC 9112, 9.6)."""
        self.eof = True
        if self.flow is not None:
            self.flow.source_ended()
        self._wake()
        return self.transport.can_write_eof()  # TLS has no half-close

    def connection_lost(self, _: Exception | None) -> None:
        """The connection is gone, both ways."""
        self.lost = True
        if self.flow is not None:
            self.flow.source_lost()
        if self.feeder is not None:
            self.feeder.sink_lost()
        self._wake()
        if self.on_lost is not None:
            self.on_lost()

    def pause_writing(self) -> None:
        """The peer takes our bytes slower than they come."""
        self.clogged = True
        if self.feeder is not None:
            self.feeder.source.settle_reading()

    def resume_writing(self) -> None:
        """The peer caught up."""
        self.clogged = False
        if self.feeder is not None:
            self.feeder.sink_clear()
        self._wake()

    # What conversations ask.

    async def head(self) -> bytes | None:
        """The next message's head; None when the peer ended, or was lost, before its first byte.

        Raises Malformed, and ConnectionError when the peer ends or is lost inside the head.
        """
        searched = 0
        while True:
            if not searched:
                del self.buffer[: http1.empty_lines(self.buffer)]
            end = http1.head_end(self.buffer, searched)
            if end >= 0:
                return self.take(end)
            searched = len(self.buffer)
            if not await self.more():
                if self.buffer:
                    raise ConnectionResetError("the peer ended inside a head")
                return None

    async def body(self, head: RequestHead, limit_bytes: int) -> bytes:
        """The whole content of a request's body, for our own use.

        Raises Malformed (413 when it is longer than `limit_bytes`) and ConnectionError when it is cut.
        """
        follower, content = request_body(head), b""
        if head.value(b"expect") is not None and not follower.done:
            self.write(CONTINUE)
        while not follower.done:
            if not self.buffer and not await self.more():
                raise ConnectionResetError("the peer ended inside a body")
            data = self.take(len(self.buffer))
            count = follower.feed(data)
            content += follower.payload(data[:count])
            self.buffer[:0] = data[count:]
            if len(content) > limit_bytes:
                raise Malformed("the body is too long", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return content

    async def more(self) -> bool:
        """Waits until bytes came; False when none will come any more."""
        length = len(self.buffer)
        while len(self.buffer) == length and not self.eof and not self.lost:
            await self._wait()
        return len(self.buffer) > length

    async def drained(self) -> None:
        """Waits until the peer takes bytes again. Raises ConnectionError when it is lost."""
        while self.clogged and not self.lost:
            await self._wait()
        if self.lost:
            raise ConnectionResetError("the peer is lost")

    def take(self, count: int) -> bytes:
        """The first bytes of the buffer."""
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        self.settle_reading()
        return taken

    def unread(self, data: bytes) -> None:
        """Puts what just came behind what waits in the buffer, for whoever waits for more."""
        self.buffer += data
        self.settle_reading()
        self._wake()

    def write(self, data: bytes) -> None:
        """Sends, in order; what the peer does not take yet is kept. Nothing happens when it is lost."""
        if not self.lost and data:
            self.moved_at = self._loop.time()
            self.sent += len(data)
            self.transport.write(data)

    def pass_on(self, data: bytes) -> None:
        """As `write`, for what just came from another Stream, whose `moved_at` tells the time."""
        if not self.lost:
            self.sent += len(data)
            self.transport.write(data)

    def end(self) -> None:
        """Ends our side once everything is sent; the peer's stays open where the transport has half-close."""
        if self.lost or self.transport.is_closing():
            return
        self._said_all = True
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        with contextlib.suppress(OSError):  # reset by the peer, which we are about to hear
            self.transport.write_eof()

    async def part(self, linger_s: float) -> None:
        """Ends in order: what was said is taken, however slowly, and what still comes is read past for a moment.

        Raises ConnectionError when the peer is lost before it took all.
        """
        self.end()
        if self.plain_socket() is not None:
            self.transport.set_write_buffer_limits(high=0)  # from now on `clogged` tells whether anything waits here
            await self.drained()
        with contextlib.suppress(TimeoutError):
            if not (self.eof or self.lost):
                async with asyncio.timeout(linger_s):
                    while await self.more():
                        self.take(len(self.buffer))
        if self.plain_socket() is not None:
            self._parted = True
            self.transport.abort()  # without a reset: what the kernel has goes on to the peer

    def close(self) -> None:
        """Closes once everything is sent."""
        if not self.lost:
            self.transport.close()

    def abort(self) -> None:
        """Cuts at once, so that the peer cannot take what it got for the whole: by RST, or TLS without close_notify.

        `abort()` also stops a TLS peer that goes on sending, which `close()` does not on uvloop.
        """
        if self.lost or self._parted:
            return
        ended = self._said_all and self.eof and self._sock is not None and not self.transport.get_write_buffer_size()
        sock = None if ended else self._socket()
        if sock is not None:
            reset_on_close(sock)
        self.transport.abort()

    def peer_address(self) -> str:
        """The peer's IP address; an IPv4 one is written as such even when it came to an IPv6 socket."""
        peer = self.transport.get_extra_info("peername")
        return str(peer[0]).removeprefix("::ffff:") if isinstance(peer, tuple) else ""

    def _socket(self) -> socket.socket | None:
        """The connection's socket, for its options. That which uvloop's transports give out is made anew each time."""
        return self._sock or cast("socket.socket | None", self.transport.get_extra_info("socket"))

    def rested_s(self) -> float:
        """Seconds since the last byte either way."""
        return self._loop.time() - self.moved_at

    # What Flow and Conduit arrange.

    def plain_socket(self) -> socket.socket | None:
        """The socket, where its bytes are the peer's own: no TLS and no framing is between."""
        return None if self.lost or self.transport.is_closing() else self._sock

    def hold(self, held: bool) -> None:
        """Has somebody else read the socket, until told otherwise."""
        self._held = held
        self.settle_reading()

    def came(self, count: int) -> None:
        """So many bytes were read past us."""
        self.moved_at = self._loop.time()
        self.received += count
        self.answered = True

    def went(self, count: int) -> None:
        """So many were written past us."""
        if count:
            self.moved_at = self._loop.time()
            self.sent += count

    def settle_reading(self) -> None:
        """Listens to the peer exactly while somebody has room for what it says."""
        if self.eof or self.lost or self.transport.is_closing():
            return
        full = self.flow.sink.clogged if self.flow is not None else len(self.buffer) >= BUFFER_LIMIT
        full = full or self._held
        if full and not self._paused:
            self.transport.pause_reading()
        elif self._paused and not full:
            self.transport.resume_reading()
        self._paused = full

    async def _wait(self) -> None:
        """Waits for the next thing to happen; one task may wait for bytes while another waits for room."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        waiters = self._waiters = self._waiters or set()
        waiters.add(waiter)
        try:
            await waiter
        finally:
            waiters.discard(waiter)
            if not waiters:
                self._waiters = None

    def _wake(self) -> None:
        for waiter in self._waiters or ():
            if not waiter.done():
                waiter.set_result(None)
