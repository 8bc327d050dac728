"""One person's HTTP/2 connection: every stream is a conversation of its own, admitted on its own.

Nothing that one stream was allowed counts for another. Browsers put requests for other hosts on a connection
whose certificate covers them; such a request is 421 (RFC 9110, 15.5.20), and the browser opens another connection.

What costs us more than the peer is counted against its patience: streams that it resets (CVE-2023-44487) or has
us reset, and frames that carry nothing. Content that moves earns some of it back.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    PingAckReceived,
    RequestReceived,
    StreamReset,
)

from gateway.core import http2, messages
from gateway.core.http1 import SWITCHING, Malformed, RequestHead, ResponseHead
from gateway.core.http2 import Header, Opening
from gateway.core.messages import End, Part
from gateway.core.patience import Patience
from gateway.core.refusals import Code, Refusal
from gateway.entries.http import answers
from gateway.entries.http.admit import Front
from gateway.entries.http.conversation import HEAD_S, KEPT_S, LINGER_S, Conversation
from gateway.entries.http.errand import Errand, Errands
from gateway.entries.http.joint import Joint
from gateway.entries.http.lessons import Lessons
from gateway.entries.http.stream import Stream
from gateway.entries.http2.exchange import Exchange, Sending
from gateway.entries.http2.link import Link
from gateway.entries.http2.mouth import Mouth
from gateway.entries.http2.peer import LAST_STREAM, STREAMS_LIMIT, Peer

log = logging.getLogger(__name__)

RESETS: Final = (200.0, 30.0)
"""Streams that may end by a reset: at once, and each second. A page that is left resets all that it was loading."""
STALL_S: Final = 300.0
"""Seconds for which a complete answer may wait for its taker without one byte of it being taken."""
NOTICE_S: Final = 1.0
"""Seconds in which a peer that was told to open no more streams may still do so."""
ERRAND_S: Final = 1.0
"""Seconds, at most twice, after which a repeated request is watched as every other one."""
DECLINE_S: Final = 1.0
"""Seconds for a person who still sends to see that the answer is complete."""
_DECLINED: Final = 0.2
_PING: Final = b"draining"


class Connection(Link):
    """Serves one connection; the same four calls as a Conversation. `server_name` is what TLS asked for."""

    def __init__(self, front: Front, carrier: Stream, *, server_name: str | None) -> None:
        """`carrier` is the connected peer, which has spoken TLS and chosen HTTP/2."""
        super().__init__(Peer(client_side=False))
        # What one connection may, no other has learned; what people without a name leave behind stays with it.
        self._front = replace(front, lessons=Lessons(), within=object())
        self._errands = Errands(self._front, self._go_on, self._ended_errand, ERRAND_S)
        self._underway: dict[Exchange, Errand] = {}
        self._carrier = carrier
        self._server_name = server_name
        self._conversations: dict[Exchange, Conversation | Joint] = {}
        self._group: asyncio.TaskGroup | None = None
        self._over = asyncio.Event()
        now = self.loop.time()
        self._resets = Patience(*RESETS, now)
        self._rest_since = now
        self._rest_s = HEAD_S
        self._drain_by: float | None = None
        self._refuses = False
        self._handlers |= {
            RequestReceived: self._request,
            ConnectionTerminated: self._peer_leaves,
            PingAckReceived: self._noticed,
        }

    async def run(self) -> None:
        """Serves streams until the connection ends; leaves nothing open behind."""
        try:
            async with asyncio.TaskGroup() as self._group:
                self._take_over()
                await self._over.wait()
        finally:
            self._carrier.transport.abort()

    # What others ask of a connection.

    def sweep(self, now: float) -> None:
        """Ends what has waited too long; called about once a second."""
        self._front.lessons.sweep(now)
        for conversation in list(self._conversations.values()):
            conversation.sweep(now)
        for exchange in list(self._exchanges.values()):
            if exchange.sending is Sending.ENDING and now - exchange.moved_at > STALL_S:
                self.reset(exchange, ErrorCodes.CANCEL)
                exchange.lose()
        if self._drain_by is not None and now > self._drain_by:
            self._refuse_more()
        if not self._exchanges and now - self._rest_since > self._rest_s:
            self._leave()

    def cut(self, refusal: Refusal) -> None:
        """Ends what is going on now, telling the person the refusal where there is still a way to."""
        for conversation in list(self._conversations.values()):
            conversation.cut(refusal)
        for errand in list(self._underway.values()):
            errand.cut(refusal)
        self._refuse_more()

    def drain(self) -> None:
        """Has the peer open no more streams here; those that are open go on (RFC 9113, 6.8)."""
        if self._drain_by is None and not self.lost:
            self._drain_by = self.loop.time() + NOTICE_S
            self._say_goodbye(LAST_STREAM)
            self._do(lambda: self._peer.ping(_PING))

    # The connection.

    def _take_over(self) -> None:
        """From now on frames come here; what the carrier has read already is first."""
        transport = self._carrier.transport
        early = self._carrier.take(len(self._carrier.buffer))
        transport.set_protocol(self)
        if self._carrier.lost or self._carrier.eof:
            self.lost = True
            self._over.set()
            return
        self.connection_made(transport)
        if early:
            self.data_received(early)

    def connection_lost(self, fault: Exception | None) -> None:
        """The connection is gone, and all its streams."""
        super().connection_lost(fault)
        self._errands.stop()
        self._over.set()

    def _peer_leaves(self, _: ConnectionTerminated) -> None:
        self._refuse_more()

    def _noticed(self, event: PingAckReceived) -> None:
        if event.ping_data == _PING and self._drain_by is not None:
            self._refuse_more()

    def _refuse_more(self) -> None:
        """Streams that are opened from now on are refused, unprocessed; with the last one the connection ends."""
        if not self._refuses:
            self._refuses = True
            self._say_goodbye(self._peer.highest_inbound_stream_id)
        self._leave_when_empty()

    def _leave_when_empty(self) -> None:
        if self._refuses and not self._exchanges and not self.lost:
            self._turn()
            self.lost = True
            self._close()

    def _leave(self) -> None:
        self._refuse_more()

    # Streams.

    def _request(self, event: RequestReceived) -> None:
        stream_id = event.stream_id
        if self._refuses or len(self._exchanges) >= STREAMS_LIMIT:
            self._do(lambda: self._peer.reset_stream(stream_id, ErrorCodes.REFUSED_STREAM))
            self._count_reset()
            return
        try:
            opening = http2.request_opening(event.headers, ended=event.stream_ended is not None, nonce=os.urandom(16))
        except Malformed as fault:
            self._turn_down(stream_id, fault, ended=event.stream_ended is not None)
            return
        exchange = self._exchanges[stream_id] = Served(self, Stream(), stream_id, opening)
        if self._front.lessons and event.stream_ended is not None:
            errand = self._errands.begin(Mouth(exchange).as_socket(), str(self.peername[0]), opening.head)
            if errand is not None:
                self._underway[exchange] = errand
                return
        self._converse(exchange, None)

    def _go_on(self, errand: Errand) -> None:
        """An errand becomes a conversation."""
        exchange = cast("Mouth", errand.sock).exchange
        self._underway.pop(exchange, None)
        self._converse(exchange, errand)

    def _ended_errand(self, errand: Errand) -> None:
        self._underway.pop(cast("Mouth", errand.sock).exchange, None)

    def _converse(self, exchange: Served, errand: Errand | None) -> None:
        conversation = Conversation(self._front, exchange.inside, server_name=self._server_name)
        self._conversations[exchange] = conversation
        exchange.begin()
        if errand is not None:
            conversation.go_on(errand)
        assert self._group is not None, "frames come only while run() runs"
        self._group.create_task(self._serve(exchange, conversation))

    async def _serve(self, exchange: Exchange, conversation: Conversation) -> None:
        """One stream's whole life: nothing that goes wrong in it reaches another."""
        try:
            joint = await conversation.run()
            if joint is not None:
                self._conversations[exchange] = joint
                await joint.run(LINGER_S)
        except Exception:
            log.exception("a conversation failed")
            exchange.abort()
        finally:
            self._conversations.pop(exchange, None)

    def _turn_down(self, stream_id: int, fault: Malformed, *, ended: bool) -> None:
        """A request that cannot be understood is answered by its status, and its stream ends (RFC 9113, 8.1.1)."""
        refusal = answers.malformed(fault.status)
        log.info("from=%s malformed: %s", self.peername and self.peername[0], fault)
        self._front.gate.metrics.refused(self._front.scheme, refusal.code)
        said = [(b":status", b"%d" % fault.status), (b"x-starlight-reason", str(refusal.code).encode())]
        self._do(lambda: self._peer.send_headers(stream_id, [*said, (b"content-length", b"0")], end_stream=True))
        if not ended:
            self._do(lambda: self._peer.reset_stream(stream_id, ErrorCodes.PROTOCOL_ERROR))
        self._count_reset()

    def decline(self, stream_id: int) -> None:
        """Nobody wants the rest of a request that is answered (RFC 9113, 8.1). There are clients that forget the
        answer over a reset that follows at once, so it comes a moment later."""
        self._count_reset(_DECLINED)
        self.loop.call_later(
            DECLINE_S, lambda: self._do(lambda: self._peer.reset_stream(stream_id, ErrorCodes.NO_ERROR))
        )

    def forget(self, exchange: Exchange) -> None:
        """The exchange is over; an errand of its own has nobody to answer, and its app is to stop."""
        super().forget(exchange)
        if exchange in self._underway:
            self._underway[exchange].up.abort()
        if not self._exchanges:
            self._rest_since, self._rest_s = self.loop.time(), KEPT_S
        self._leave_when_empty()

    # Patience.

    def _was_reset(self, event: StreamReset) -> None:
        super()._was_reset(event)
        self._count_reset()

    def _count_reset(self, cost: float = 1.0) -> None:
        if not self._resets.spend(self.loop.time(), cost):
            self._calm_down("streams that were reset")

    def _calm_down(self, what: str) -> None:
        if not self.lost:
            self._front.gate.metrics.refused(self._front.scheme, Code.RATE_LIMITED)
        super()._calm_down(what)


class Served(Exchange):
    """A stream that a person opened: its request is handed in, what is written is its response."""

    def __init__(self, link: Connection, inside: Stream, stream_id: int, opening: Opening) -> None:
        super().__init__(link, inside, messages.responses(opening.method), stream_id)
        self.inside = inside
        self._connection = link
        self._opening = opening

    def begin(self) -> None:
        """Hands in the request."""
        self._open(self._opening)

    def sent_all(self) -> None:
        """The response is complete: whoever is inside waits for no other request."""
        super().sent_all()
        if self._writes.raw:
            return
        if not self.received_all:
            self._connection.decline(self.stream_id)
        self._link.loop.call_soon(self._hand_in_eof)

    def _hand_in_eof(self) -> None:
        if not self.gone:
            self._inside.eof_received()

    def _say(self, part: Part) -> None:
        match part:
            case ResponseHead():
                self._say_head(part)
            case End(trailers):
                self._end(http2.trailer_headers(trailers))
            case RequestHead():
                raise AssertionError("responses are written here")
            case content:
                self._content(content)

    def _say_head(self, head: ResponseHead) -> None:
        headers: Sequence[Header]
        if head.status == SWITCHING or (self._opening.accept is not None and head.status // 100 == 2):
            headers = self._switched(head)
        else:
            headers = http2.response_headers(head)
        end = headers is _FAULT or self._writes.is_complete
        self._link.send_headers(self, headers, end=end)
        if end:
            self.sent_all()

    def _switched(self, head: ResponseHead) -> Sequence[Header]:
        """The answer to a WebSocket: 200 where HTTP/1.1 says 101 (RFC 8441, 5), which no other success may become."""
        accept = self._opening.accept
        if head.status != SWITCHING or accept is None or head.value(b"sec-websocket-accept") != accept:
            return _FAULT
        self._writes.raw = True
        kept = [field for field in http2.response_headers(head) if field[0] != b"sec-websocket-accept"]
        return [(b":status", b"200"), *kept[1:]]


_FAULT: Final[Sequence[Header]] = (
    (b":status", b"502"),
    (b"x-starlight-reason", str(Code.APP_FAULT).encode()),
    (b"content-length", b"0"),
)
