"""One HTTP/2 connection: frames come in and go out, fairly among its streams (RFC 9113, 5.2 and 6.9).

A stream sends one frame, then the next has its turn. Nothing is framed that the peer's windows or the
connection's own buffer have no room for: it waits with its stream, which makes its source wait.

State: the peer's side as `peer.py` keeps it, the streams, and those of them that have something to send.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    InformationalResponseReceived,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import H2Error, ProtocolError

from gateway.core.http1 import Malformed
from gateway.core.http2 import Header
from gateway.core.patience import Patience
from gateway.entries.http2.exchange import Exchange, Sending
from gateway.entries.http2.peer import Peer

log = logging.getLogger(__name__)

FRAME_BYTES: Final = 16 * 1024
"""Content of one frame, so that streams take turns."""
TURN_BYTES: Final = 64 * 1024
"""Bytes that are framed before the connection is asked whether it has room for more."""
FRAMES_AT_ONCE: Final = 32
"""Frames that are looked at before others have their turn: one read may hold thousands of small ones."""
IDLE_FRAMES: Final = (2000.0, 200.0)
"""Frames that carry nothing: at once, and each second."""
_WORTH: Final = frozenset(
    {
        RequestReceived,
        ResponseReceived,
        InformationalResponseReceived,
        DataReceived,
        TrailersReceived,
        StreamEnded,
        StreamReset,
    }
)
"""Events that move something, or are counted elsewhere; every other one is of a frame that carries nothing."""
BACKLOG_LIMIT: Final = 1024 * 1024
"""Bytes that wait for a peer who does not read; what is due to it beyond its windows is only answers to its frames."""

LAST_WORDS_S: Final = 0.5
"""Seconds for a peer that goes on talking to hear why it is not listened to."""
FAREWELL_S: Final = 3.0
"""Seconds for a peer to take what it is told last."""


class Link(asyncio.Protocol):
    """A connection with `peer`, whose transport `attach` gives."""

    transport: asyncio.Transport

    def __init__(self, peer: Peer) -> None:
        self.loop = asyncio.get_running_loop()
        self.peername: Any = None
        self.lost = False
        self._peer = peer
        self._exchanges: dict[int, Exchange] = {}
        self._ready: deque[Exchange] = deque()
        self._clogged = False
        self._turn_due = False
        self._more_due = False
        self._idle_frames = Patience(*IDLE_FRAMES, self.loop.time())
        self._handlers: dict[type[Event], Callable[[Any], None]] = {
            DataReceived: self._data,
            TrailersReceived: self._trailers,
            StreamEnded: self._ended,
            StreamReset: self._was_reset,
            WindowUpdated: self._window,
            RemoteSettingsChanged: self._settings,
        }

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands: says the preface."""
        self.transport = cast("asyncio.Transport", transport)
        self.peername = transport.get_extra_info("peername")
        self._peer.open()
        self._turn()

    def data_received(self, data: bytes) -> None:
        """Frames came; more than a few of them are looked at in turn with other connections."""
        if self.lost:
            return
        try:
            events = self._peer.receive_data(data, 0 if self._more_due else FRAMES_AT_ONCE)
        except ProtocolError as fault:
            self._break_off(f"protocol error: {fault}")
            return
        for event in events:
            self._take(event)
        if self._peer.has_more and not self._more_due and not self.lost:
            self._more_due = True
            self.transport.pause_reading()
            self.loop.call_soon(self._take_more)
        self._turn()

    def _take_more(self) -> None:
        self._more_due = False
        self.data_received(b"")
        if not (self._more_due or self.lost):
            self.transport.resume_reading()

    def _take(self, event: Event) -> None:
        kind = type(event)
        if kind not in _WORTH:
            self._idle_frame()
        handler = self._handlers.get(kind)
        if handler is not None and not self.lost:
            handler(event)

    def eof_received(self) -> bool:
        """The peer ended: no stream of it goes on (RFC 9113 has no half-closed connections)."""
        return False

    def connection_lost(self, _: Exception | None) -> None:
        """The connection is gone, and all its streams."""
        self.lost = True
        for exchange in list(self._exchanges.values()):
            exchange.lose()

    def pause_writing(self) -> None:
        """The peer takes our bytes slower than they come."""
        self._clogged = True

    def resume_writing(self) -> None:
        """The peer caught up."""
        self._clogged = False
        self._turn()

    # What exchanges ask.

    def ready(self, exchange: Exchange) -> None:
        """It has something to send."""
        if not exchange.queued:
            exchange.queued = True
            self._ready.append(exchange)
        self._turn_soon()

    def send_headers(self, exchange: Exchange, headers: Sequence[Header], *, end: bool = False) -> bool:
        """Sends fields, before whatever content the exchange sends after; whether they could be sent."""
        return self._do(lambda: self._peer.send_headers(exchange.stream_id, headers, end_stream=end))

    def reset(self, exchange: Exchange, code: ErrorCodes) -> None:
        """Ends a stream at once."""
        self._do(lambda: self._peer.reset_stream(exchange.stream_id, code))

    def acknowledge(self, exchange: Exchange, flow: int) -> None:
        """So many bytes found their taker: the peer may send as many more."""
        if flow:
            self._do(lambda: self._peer.acknowledge_received_data(flow, exchange.stream_id))

    def forget(self, exchange: Exchange) -> None:
        """The exchange is over."""
        if self._exchanges.get(exchange.stream_id) is exchange:
            del self._exchanges[exchange.stream_id]

    # Events.

    def _data(self, event: DataReceived) -> None:
        if event.data:
            self._idle_frames.earn(1)
        elif event.stream_ended is None:
            self._idle_frame()
        exchange = self._exchanges.get(event.stream_id)
        flow = event.flow_controlled_length or 0
        if exchange is not None:
            exchange.take(event.data or b"", flow)
        elif flow:
            # Nobody wants it: the stream gets no more room, the others keep theirs.
            self._do(lambda: self._peer.increment_flow_control_window(flow))

    def _trailers(self, event: TrailersReceived) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is None:
            return
        try:
            exchange.take_trailers(event.headers)
        except Malformed as fault:
            log.info("malformed trailers: %s", fault)
            self.reset(exchange, ErrorCodes.PROTOCOL_ERROR)
            exchange.lose()

    def _ended(self, event: StreamEnded) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.take_end()

    def _was_reset(self, event: StreamReset) -> None:
        exchange = self._exchanges.get(event.stream_id)
        if exchange is not None:
            exchange.lose()
        else:
            self._idle_frame()

    def _window(self, event: WindowUpdated) -> None:
        if event.stream_id:
            exchange = self._exchanges.get(event.stream_id)
            if exchange is not None:
                self._requeue(exchange)

    def _settings(self, _: RemoteSettingsChanged) -> None:
        self._peer.bound_table()
        for exchange in self._exchanges.values():
            self._requeue(exchange)

    def _requeue(self, exchange: Exchange) -> None:
        if not exchange.queued and (exchange.out or exchange.sending is Sending.ENDING):
            exchange.queued = True
            self._ready.append(exchange)

    def _idle_frame(self) -> None:
        if not self._idle_frames.spend(self.loop.time()):
            self._calm_down("frames that carry nothing")

    def _calm_down(self, what: str) -> None:
        """The peer has us work for nothing."""
        if not self.lost:
            self._say_goodbye(self._peer.highest_inbound_stream_id, ErrorCodes.ENHANCE_YOUR_CALM)
            self._break_off(f"too many {what}")

    def _say_goodbye(self, last_stream: int, code: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        if not self.lost:
            self._turn()
            self.transport.write(self._peer.go_away(last_stream, code))

    # Sending.

    def _do(self, step: Callable[[], object]) -> bool:
        """One step of the peer's side. A stream that a frame further on in the same read has ended takes none."""
        try:
            step()
        except (H2Error, KeyError) as fault:
            log.debug("not sent: %s", fault)
            return False
        self._turn_soon()
        return True

    def _turn_soon(self) -> None:
        if not self._turn_due:
            self._turn_due = True
            self.loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Frames and sends what there is room for."""
        self._turn_due = False
        if self.lost:
            return
        while self._frame_some():
            self._write()
        self._write()
        if self.transport.get_write_buffer_size() > BACKLOG_LIMIT:
            self._break_off("it asks for more than it reads")

    def _frame_some(self) -> bool:
        """Frames content, about TURN_BYTES of it; whether there may be more to frame."""
        room = TURN_BYTES
        while self._ready and room > 0 and not self._clogged:
            window = self._peer.outbound_flow_control_window
            if window <= 0:
                self._frame_ends()
                return False  # until the connection's window opens
            exchange = self._ready.popleft()
            exchange.queued = False
            room -= self._frame(exchange, window)
        return bool(self._ready) and not self._clogged

    def _frame_ends(self) -> None:
        """Sends what needs no window: the ends of streams whose content is all sent."""
        waiting, self._ready = self._ready, deque()
        for exchange in waiting:
            exchange.queued = False
            if exchange.out:
                self._requeue(exchange)
            else:
                self._frame(exchange, 0)

    def _frame(self, exchange: Exchange, window: int) -> int:
        """Sends one frame of the exchange; the bytes of content in it."""
        if exchange.gone or exchange.sending in (Sending.ENDED, Sending.RESET):
            return 0
        try:
            own = self._peer.local_flow_control_window(exchange.stream_id)
            size = min(len(exchange.out), window, own, FRAME_BYTES)
            if size <= 0 and exchange.out:
                return 0  # until the stream's window opens
            data = bytes(exchange.out[:size])
            del exchange.out[:size]
            last = not exchange.out and exchange.sending is Sending.ENDING
            if data or (last and not exchange.trailers):
                self._peer.send_data(exchange.stream_id, data, end_stream=last and not exchange.trailers)
            if last and exchange.trailers:
                self._peer.send_headers(exchange.stream_id, exchange.trailers, end_stream=True)
        except (H2Error, KeyError) as fault:
            log.debug("stream %d takes no more: %s", exchange.stream_id, fault)
            exchange.lose()
            return 0
        if exchange.out:
            self._requeue(exchange)
        self._idle_frames.earn(2 if size else 0)  # the peer answers a frame with as many updates of windows
        exchange.sent()
        if last:
            exchange.sent_all()
        return size

    def _write(self) -> None:
        data = self._peer.data_to_send()
        if data:
            self.transport.write(data)

    def _break_off(self, why: str) -> None:
        """The peer does not keep to the protocol: it is told, and every stream ends."""
        log.info("from=%s http/2 ended: %s", self.peername and self.peername[0], why)
        self._write()
        self.lost = True
        for exchange in list(self._exchanges.values()):
            exchange.lose()
        self._part()

    def _part(self) -> None:
        """What the peer still says is not read any more; closing on it at once would reset our last words away."""
        self.transport.pause_reading()
        self.loop.call_later(LAST_WORDS_S, self._close)

    def _close(self) -> None:
        """Closes once everything is sent, or when the peer has had its time to take it."""
        self.transport.close()
        self.loop.call_later(FAREWELL_S, self.transport.abort)
