"""Two peers joined after a 101 (RFC 9110, 7.8): bytes both ways, untouched, until both sides have ended.

A WebSocket rests for hours. Whatever asked for it, admitted it and found its way is let go before: what stays is
the two connections, the visit, and this, without a task of its own. What comes moves inside its source's own
callbacks; the sink's back-pressure stops the source. Ends pass on one by one, and a reset stays a reset.

State: the directions that have not ended, and how those that have did.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from gateway.core.refusals import Code, Refusal
from gateway.core.websocket import FrameEnds, close_frame
from gateway.entries.http.stream import Stream
from gateway.wire.visits import Visit

log = logging.getLogger(__name__)

HALF_CLOSED_S: Final = 60.0
"""Seconds without a byte once the person's side has ended: whoever closed a tab will not take the answer."""


class Joint:
    """Both connections are its own. The same calls as a Conversation: `sweep`, `cut`, `drain`.

    `take_over` and `start` follow each other before anything is awaited; `part` follows the end, `leave` is the last.
    """

    __slots__ = (
        "_down",
        "_frames",
        "_late",
        "_lead",
        "_left",
        "_on_over",
        "_orderly",
        "_quiet_s",
        "_told",
        "_visit",
        "up",
    )

    def __init__(self, down: Stream, up: Stream, lead: bytes, *, websocket: bool) -> None:
        """`lead` is the head of the 101, for the person."""
        self.up = up
        self._down = down
        self._lead = lead
        self._frames = FrameEnds() if websocket else None
        self._visit: Visit | None = None
        self._quiet_s = 0.0
        self._late = Code.TIMEOUT
        self._left = 2
        self._orderly = True
        self._told = False
        self._on_over: Callable[[Joint], object] | None = None

    def take_over(self, visit: Visit | None, quiet_s: float, late: Code) -> None:
        """The visit is this one's from now on. After `quiet_s` seconds without a byte it is cut, with `late`."""
        self._visit, self._quiet_s, self._late = visit, quiet_s, late

    def start(self, on_over: Callable[[Joint], object]) -> None:
        """Says the 101, and joins. `on_over` hears of the end of both directions, maybe at once."""
        self._on_over = on_over
        lead, self._lead = self._lead, b""
        Direction(self, self.up, self._down, self._frames).start(lead)
        Direction(self, self._down, self.up, None).start(b"")

    async def run(self, linger_s: float) -> None:
        """Starts, and serves to the end: for who has a task for it anyhow."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            self.start(lambda _: over.set_result(None))
            await over
            await self.part(linger_s)
        finally:
            self.leave()

    async def part(self, linger_s: float) -> None:
        """Both directions have ended: what was said is still taken, where the end was an orderly one."""
        self.up.abort()
        if not self._orderly:
            self._down.abort()
            return
        try:
            await self._down.part(linger_s)
        except ConnectionError as fault:
            log.debug("visit=%s ended: %s", self._visit and self._visit.id, fault)

    def leave(self) -> None:
        """Leaves nothing open behind, whatever state it is in; may be called again."""
        self._on_over = None
        self.up.abort()
        self._down.abort()
        self._count()
        visit, self._visit = self._visit, None
        if visit is not None:
            visit.leave()

    # What is asked of all that runs on a listener.

    def sweep(self, now: float) -> None:
        """Ends what has been silent for too long; called about once a second."""
        self._count()
        quiet_s = min(self._quiet_s, HALF_CLOSED_S) if self._down.eof else self._quiet_s
        if now - max(self._down.moved_at, self.up.moved_at) > quiet_s:
            self.cut(Refusal(self._late))

    def drain(self) -> None:
        """Nothing to do: it takes no further request."""

    def cut(self, refusal: Refusal) -> None:
        """Ends it now: with a WebSocket's own goodbye where that can be, else only a reset is honest."""
        told = self._say_goodbye(refusal)
        self.up.abort()
        if not told:
            self._down.abort()

    def _say_goodbye(self, refusal: Refusal) -> bool:
        """Closes a WebSocket with its own close frame; False where that cannot be, or was."""
        if self._told or not self._left or self._frames is None or not self._frames.between or self._down.clogged:
            return False
        self._told = True
        self._down.write(close_frame(refusal))
        self._down.end()
        return True

    # What its directions tell.

    def ended(self, sink: Stream, *, orderly: bool) -> None:
        """One direction has ended: in order, which is passed on, or not, which ends both unless that was our wish."""
        self._left -= 1
        if orderly:
            sink.end()
        elif not self._told:
            self._orderly = False
            self._down.abort()
            self.up.abort()
        if not self._left and self._on_over is not None:
            self._on_over(self)

    def _count(self) -> None:
        if self._visit is not None:
            self._visit.count(self.up.sent, self.up.received)
        self.up.sent = self.up.received = 0


class Direction:
    """What `source` says, on its way to `sink`; to its streams what a Flow is."""

    __slots__ = ("_ended", "_frames", "_joint", "sink", "source")

    def __init__(self, joint: Joint, source: Stream, sink: Stream, frames: FrameEnds | None) -> None:
        """`frames` follows what passes."""
        self.source = source
        self.sink = sink
        self._joint = joint
        self._frames = frames
        self._ended = False

    def start(self, lead: bytes) -> None:
        """Sends `lead` and what waits in the source's buffer as one write; then whatever comes."""
        source, sink = self.source, self.sink
        waiting = source.take(len(source.buffer)) if source.buffer else b""
        source.flow, sink.feeder = self, self
        if self._frames is not None:
            self._frames.feed(waiting)
        sink.write(lead + waiting)
        if sink.lost:
            self.sink_lost()
        elif source.eof:
            self.source_ended()
        elif source.lost:
            self.source_lost()
        else:
            source.settle_reading()

    def take(self, data: bytes) -> None:
        """Passes on what came."""
        if self._frames is not None:
            self._frames.feed(data)
        self.sink.pass_on(data)

    def source_ended(self) -> None:
        """The source ended its side in order."""
        self._finish(orderly=True)

    def source_lost(self) -> None:
        """The source's connection broke."""
        self._finish(orderly=False)

    def sink_clear(self) -> None:
        """The sink takes bytes again."""
        self.source.settle_reading()

    def sink_lost(self) -> None:
        """The sink's connection broke."""
        self._finish(orderly=False)

    def _finish(self, *, orderly: bool) -> None:
        if self._ended:
            return
        self._ended = True
        if self.source.flow is self:
            self.source.flow = None
        if self.sink.feeder is self:
            self.sink.feeder = None
        self.source.settle_reading()
        self._joint.ended(self.sink, orderly=orderly)
