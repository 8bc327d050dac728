"""The upstream side of one person's connection: requests go out on it, one at a time.

State: the upstream kept from the last request; at the end the pool keeps it for the same person's next connection.
It is reused only for requests that may be repeated, because an app may close an idle connection just then;
one that speaks HTTP/2 says so before, and is sent any request on it.
"""

from __future__ import annotations

import logging

from gateway.core import http1
from gateway.core.headers import Origin
from gateway.core.http1 import RequestHead
from gateway.core.refusals import Refusal
from gateway.entries.http.joint import Joint
from gateway.entries.http.lane import Lane
from gateway.entries.http.lessons import Lessons
from gateway.entries.http.passage import Fate, Passage
from gateway.entries.http.pool import KEPT_S, Pool, is_quiet
from gateway.entries.http.stream import Stream
from gateway.entries.http.upstream import Way
from gateway.wire.dial import DialFault

log = logging.getLogger(__name__)


class Forwarder:
    """Takes requests to their upstreams. `draining` makes each answer the last of its connection."""

    def __init__(self, down: Stream, origin: Origin, lane: Lane, pool: Pool, lessons: Lessons) -> None:
        self.draining = False
        self._lane = lane
        self._pool = pool
        self._lessons = lessons
        self._down = down
        self._origin = origin
        self._up: Stream | None = None
        self._key: object = None
        self._passage: Passage | None = None
        self._cut_by: Refusal | None = None
        self._counted = (0, 0)
        self._shares = False

    async def forward(self, head: RequestHead, way: Way) -> Fate | Refusal | Joint:
        """One request and its answer; a Refusal when nothing of an answer was sent and this is to be said instead.

        A Joint when both peers agreed to change the protocol: both connections are its own from then on.
        """
        self._shares = False
        passage = self._passage = Passage(head, self._down, self._origin, way, closes=self.draining)
        try:
            fate = await self._through(passage, way)
        except DialFault as fault:
            log.info("from=%s upstream: %s", self._origin.address, fault)
            return self._cut_by or fault.refusal
        except TimeoutError:
            return self._cut_by or way.fault
        finally:
            self._passage = None
        if isinstance(fate, Joint):
            self._count(fate.up)
            self._up = None
            return fate
        if not passage.keeps_upstream:
            self.drop()
        elif fate is Fate.COMPLETE and self._up is not None and way.host is not None and not (way.cors or way.paced):
            self._lane.learn(head, passage.said, way.host, self._up)
        elif fate is Fate.CLOSING and passage.brief and not http1.keeps_alive(head):
            self._teach(passage.said, way)
        self._shares = way.shares and passage.keeps_upstream and fate in (Fate.COMPLETE, Fate.CLOSING)
        if fate in (Fate.UNANSWERED, Fate.FAULTY):
            log.info("from=%s upstream: %s", self._origin.address, fate.value)
            return self._cut_by or way.fault
        return fate

    def go_on(self, up: Stream, key: object) -> None:
        """The request that comes was sent over `up` already."""
        self._up, self._key, self._lane.underway = up, key, True

    def cut(self, refusal: Refusal) -> None:
        """Ends the request now: `refusal` becomes its answer; once one has begun there is but a reset."""
        self._cut_by = refusal
        self.abort()
        if self._passage is not None and self._passage.begun:
            self._down.abort()

    def abort(self) -> None:
        """Nobody waits for an answer any more: upstream is to stop as well."""
        if self._up is not None:
            self._up.abort()

    def drain(self) -> None:
        """Makes the answer that is on its way the last one."""
        self.draining = True
        if self._passage is not None:
            self._passage.closes = True

    def moved_at(self) -> float:
        """The loop's time of the last byte from or to upstream."""
        return self._up.moved_at if self._up is not None else 0.0

    def tidy(self, now: float) -> None:
        """Drops an upstream that rested too long to be reused; called between requests."""
        if self._up is not None and now - self._up.moved_at > KEPT_S:
            self.drop()

    def take_count(self) -> tuple[int, int]:
        """Bytes sent upstream and received from there since the last call."""
        if self._up is not None:
            self._count(self._up)
        counted, self._counted = self._counted, (0, 0)
        return counted

    def part(self) -> None:
        """The person's connection ends: an upstream that rests may serve their next one."""
        if self._up is not None and self._shares and not (self._lane.underway or self._cut_by or self.draining):
            self._count(self._up)
            self._pool.give(self._key, self._up)
            self._up = None
        self.drop()

    def drop(self) -> None:
        """Lets go of the kept upstream."""
        self._lane.underway = False
        if self._up is not None:
            self._count(self._up)
            self._up.abort()
            self._up = None

    def _teach(self, said: bytes, way: Way) -> None:
        if way.admission is not None and way.shares and not (way.cors or way.paced):
            self._lane.teach(self._lessons, self._origin.address, said, way.key, way.admission)

    def _count(self, up: Stream) -> None:
        self._counted = (self._counted[0] + up.sent, self._counted[1] + up.received)
        up.sent = up.received = 0

    async def _through(self, passage: Passage, way: Way) -> Fate | Joint:
        """Tries again only what may be repeated, and only when not one byte of an answer came (RFC 9110, 9.2.2)."""
        fate: Fate | Joint = Fate.UNANSWERED
        underway, self._lane.underway = self._lane.underway, False
        kept = self._kept(way) if passage.repeatable or way.reuses else None
        if kept is not None and (underway or is_quiet(kept)):
            fate = await passage.through(kept, sent=underway)
            if not passage.repeatable:
                return fate
        for _ in range(way.tries if passage.repeatable else 1):
            if fate is not Fate.UNANSWERED or self._down.lost or self._cut_by:
                return fate
            self.drop()
            self._up, self._key = await way.open(), way.key
            if not self._down.lost and not self._cut_by:
                fate = await passage.through(self._up)
        return fate

    def _kept(self, way: Way) -> Stream | None:
        """An upstream that leads this way and stands already."""
        if self._up is not None and self._key == way.key:
            return self._up
        pooled = self._pool.take(way.key) if way.shares else None
        if pooled is not None:
            self.drop()
            self._up, self._key = pooled, way.key
        return pooled
