"""One body on its way from one Stream to another.

It moves inside the source's own callbacks, so that bytes cost no task switch; the sink's back-pressure
stops the source. A long body between plain sockets takes a conduit (`conduit.py`).
"""

from __future__ import annotations

import asyncio
from enum import Enum

from gateway.core.bodies import Body
from gateway.core.http1 import Malformed
from gateway.entries.http.conduit import Conduit, conduit
from gateway.entries.http.stream import Stream


class Outcome(Enum):
    """How a flow ended."""

    DONE = "the body is complete"
    CUT = "the source ended or was lost inside the body"
    MALFORMED = "the body breaks its own framing"
    SINK_LOST = "nobody takes the body any more"


class Flow:
    """One body on its way from `source` to `sink`; `outcome` is None while it moves.

    With `unchunk` only the content travels, without its chunk framing. `aborts` are cut when the flow ends
    in any other way than DONE.
    """

    __slots__ = (
        "_body",
        "_conduit",
        "_endless",
        "_unchunk",
        "_waiter",
        "aborts",
        "outcome",
        "sink",
        "source",
    )

    def __init__(
        self,
        source: Stream,
        sink: Stream,
        body: Body,
        *,
        unchunk: bool = False,
        aborts: tuple[Stream, ...] = (),
    ) -> None:
        self.source = source
        self.sink = sink
        self.outcome: Outcome | None = None
        self._body = body
        self._endless = body.ends_with_connection  # then all that comes belongs to it
        self._unchunk = unchunk
        self.aborts = aborts
        self._waiter: asyncio.Future[None] | None = None
        self._conduit: Conduit | None = None

    def start(self, lead: bytes = b"") -> None:
        """Sends `lead` (the head) and what of the body waits in the source's buffer as one write; then the rest."""
        source, sink = self.source, self.sink
        waiting = source.take(len(source.buffer)) if source.buffer and not self._body.done else b""
        source.flow, sink.feeder = self, self
        if waiting:
            self.take(waiting, lead)
        else:
            sink.write(lead)
            if self._body.done:
                self._finish(Outcome.DONE)
        if self.outcome is None:
            self._meet_the_ended()
        if self.outcome is None:
            source.settle_reading()
            self._conduit = conduit(self, self._body)
        if self._conduit is not None:
            self._conduit.go()

    async def wait(self) -> Outcome:
        """How the flow ended, once it has."""
        while self.outcome is None:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.outcome

    def take(self, data: bytes, lead: bytes = b"") -> None:
        """Passes on the body's part of `data`; what follows the body goes back into the source's buffer."""
        if self._endless:
            self.sink.pass_on(lead + data if lead else data)
            return
        try:
            count = self._body.feed(data)
        except Malformed:
            self.sink.write(lead)
            self._finish(Outcome.MALFORMED)
            return
        mine = data if count == len(data) else data[:count]
        self.sink.write(lead + (self._body.payload(mine) if self._unchunk else mine))
        if self._body.done:
            self.source.buffer[:0] = data[count:]
            self._finish(Outcome.DONE)

    def source_ended(self) -> None:
        """The source ended its side in order: complete only for a body that ends so."""
        self._finish(Outcome.DONE if self._body.ends_with_connection else Outcome.CUT)

    def source_lost(self) -> None:
        """The source's connection broke: what came is not the whole (RFC 9112, 8)."""
        self._finish(Outcome.CUT)

    def passed(self) -> None:
        """All of the body went through the conduit."""
        self._finish(Outcome.DONE)

    def sink_clear(self) -> None:
        """The sink takes bytes again."""
        if self._conduit is not None:
            self._conduit.go()
        self.source.settle_reading()

    def sink_lost(self) -> None:
        """The sink's connection broke."""
        self._finish(Outcome.SINK_LOST)

    def stop(self) -> None:
        """Ends the flow as cut, if it still runs: what comes from now on waits in the source's buffer."""
        self._finish(Outcome.CUT)

    def _meet_the_ended(self) -> None:
        if self.sink.lost:
            self.sink_lost()
        elif self.source.eof:
            self.source_ended()
        elif self.source.lost:
            self.source_lost()

    def _finish(self, outcome: Outcome) -> None:
        if self.outcome is not None:
            return
        self.outcome = outcome
        if self.source.flow is self:
            self.source.flow = None
        if self.sink.feeder is self:
            self.sink.feeder = None
        if self._conduit is not None:
            self._conduit.close()
        self.source.settle_reading()
        if outcome is not Outcome.DONE:
            for stream in self.aborts:
                stream.abort()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
