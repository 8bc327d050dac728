"""An app that speaks HTTP/2 without TLS (h2c by prior knowledge; RFC 9113, 3.3), gRPC among them.

Whoever asks takes it for an HTTP/1.1 connection: one request at a time, each a stream of its own. Trailers
become those of a chunked body, so that gRPC's status arrives whichever version the person's side speaks.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, InformationalResponseReceived, ResponseReceived, StreamReset

from gateway.core import http2, messages
from gateway.core.http1 import Malformed, RequestHead, ResponseHead
from gateway.core.messages import End, Part
from gateway.entries.http.stream import Stream
from gateway.entries.http2.exchange import Exchange, Sending
from gateway.entries.http2.link import Link
from gateway.entries.http2.peer import Peer

log = logging.getLogger(__name__)


async def join(sock: socket.socket) -> Stream:
    """A Stream over a socket that is connected to an app, and owned from now on. Raises OSError."""
    stream = Stream()
    try:
        await asyncio.get_running_loop().create_connection(lambda: AppLink(stream), sock=sock)
    except BaseException:
        sock.close()
        raise
    return stream


class AppLink(Link):
    """A connection with an app; `inside` sends requests on it."""

    def __init__(self, inside: Stream) -> None:
        super().__init__(Peer(client_side=True))
        self._asked = Asked(self, inside)
        self._leaving = False
        self._handlers |= {
            ResponseReceived: self._response,
            InformationalResponseReceived: self._response,
            ConnectionTerminated: self._app_leaves,
        }

    def connection_lost(self, fault: Exception | None) -> None:
        """The connection is gone, whether or not a request is on its way."""
        super().connection_lost(fault)
        self._asked.lose()

    def begin(self, headers: list[http2.Header], *, end: bool) -> bool:
        """Sends a request on a stream of its own; whether the app takes another."""
        self._exchanges.clear()  # what an earlier stream still says is nobody's
        if self.lost or self._leaving:
            return False
        self._asked.stream_id = self._peer.get_next_available_stream_id()
        self._exchanges[self._asked.stream_id] = self._asked
        return self.send_headers(self._asked, headers, end=end)

    def rests(self) -> None:
        """A response is complete."""
        if self._leaving:
            self.loop.call_soon(self._asked.lose)

    def forget(self, exchange: Exchange) -> None:
        """Whoever asked is done with the connection."""
        super().forget(exchange)
        if not self.lost:
            self._turn()
            self.lost = True
            self._close()

    def _part(self) -> None:
        self.transport.abort()

    def _was_reset(self, event: StreamReset) -> None:
        if self._asked.received_all and event.stream_id in self._exchanges:
            self._leaving = True  # the response is whole: the app wants no more of the request (RFC 9113, 8.1)
        else:
            super()._was_reset(event)

    def _response(self, event: ResponseReceived | InformationalResponseReceived) -> None:
        if event.stream_id in self._exchanges:
            ended = isinstance(event, ResponseReceived) and event.stream_ended is not None
            self._asked.take_head(event.headers, ended=ended)

    def _app_leaves(self, event: ConnectionTerminated) -> None:
        """It serves what it took on, and nothing more (RFC 9113, 6.8)."""
        self._leaving = True
        if not self._asked.is_busy or self._asked.stream_id > (event.last_stream_id or 0):
            self._asked.lose()


class Asked(Exchange):
    """Requests are written here, their responses are handed in."""

    def __init__(self, link: AppLink, inside: Stream) -> None:
        super().__init__(link, inside, messages.requests())
        self._app = link
        self._method = b""
        self._lose_due = False
        self.is_busy = False
        """Whether a response is due."""

    def take_head(self, headers: list[http2.Header], *, ended: bool) -> None:
        """A response's head came; one that is none ends the connection."""
        try:
            self._open(http2.response_opening(headers, ended=ended, method=self._method))
        except Malformed as fault:
            log.info("an app's response: %s", fault)
            self.abort()

    def lose(self) -> None:
        """The connection is no more. A whole response that waits for its taker is handed in first."""
        if self._holds and self.received_all and not self._closed:
            self._lose_due = True
        else:
            super().lose()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Takes HTTP/1.1: the rest of a request, or another one."""
        if self.sending is Sending.ENDED and data and not self._closed:
            self.sending, self.trailers, self.received_all = Sending.OPEN, (), False
        super().write(data)

    def abort(self) -> None:
        """Cancels what is on its way, and ends the connection."""
        if self.is_busy and not self._closed:
            self._app.reset(self, ErrorCodes.CANCEL)
            self.sending = Sending.RESET
            self.out.clear()
        self._closed = True
        self._app.loop.call_soon(self.lose)

    def close(self) -> None:
        """The same: there is no connection without a request."""
        self.abort()

    def _say(self, part: Part) -> None:
        match part:
            case RequestHead():
                self._method, self.is_busy = part.method, True
                end = self._writes.is_complete
                if not self._app.begin(http2.request_headers(part), end=end):
                    self.abort()
                elif end:
                    self.sent_all()
            case End(trailers):
                if self.sending is Sending.OPEN:
                    self._end(http2.trailer_headers(trailers))
            case ResponseHead():
                raise AssertionError("requests are written here")
            case content:
                self._content(content)

    def _hand_in_end(self) -> None:
        self.is_busy = False
        self._app.rests()
        super()._hand_in_end()
        if self._lose_due:
            self._holds = False
            self._app.loop.call_soon(self.lose)
