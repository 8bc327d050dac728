"""A long body of known length on its way through a pipe, inside the kernel: never read into this process.

Both ends are plain sockets whose transports stand still meanwhile: the source is not read by its own, and what was
written to the sink before has left its buffer. Descriptors of our own are watched, because event loops guard those
of their transports.
State: the pipe, what of the body is still to come, and which side is waited for.
"""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Callable
from typing import Final, Protocol

from gateway.core.bodies import Length
from gateway.entries.http.stream import WRITE_LIMIT, Stream
from gateway.wire.splice import PIPE_BYTES, PIPES, Pipe

WORTH_BYTES: Final = 256 * 1024
"""What a body must still have for a pipe to be worth its while."""


class Ends(Protocol):
    """Whose body it is, and what it hears of its end."""

    source: Stream
    sink: Stream

    def passed(self) -> None:
        """All of the body has gone on."""

    def source_ended(self) -> None:
        """The source ended inside the body."""

    def source_lost(self) -> None:
        """The source broke off."""

    def sink_lost(self) -> None:
        """The sink broke off."""


def conduit(ends: Ends, body: object) -> Conduit | None:
    """A conduit for the rest of the body; None where there can be none, or it is not worth it."""
    if not isinstance(body, Length) or body.left < WORTH_BYTES:
        return None
    source, sink = ends.source.plain_socket(), ends.sink.plain_socket()
    pipe = PIPES.take() if source is not None and sink is not None else None
    if source is None or sink is None or pipe is None:
        return None
    descriptors: list[int] = []
    try:
        descriptors.extend(os.dup(sock.fileno()) for sock in (source, sink))
    except OSError:  # no descriptors are left
        PIPES.give(pipe)
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    return Conduit(ends, body, pipe, *descriptors)


class Conduit:
    """One body's. Nothing moves before `go`, and nothing after `close`."""

    __slots__ = ("_body", "_ends", "_in", "_loop", "_lost", "_out", "_pipe", "_waits_for")

    def __init__(self, ends: Ends, body: Length, pipe: Pipe, source: int, sink: int) -> None:
        """Use `conduit`. The descriptors are its own."""
        self._ends = ends
        self._body = body
        self._pipe = pipe
        self._in = source
        self._out = sink
        self._loop = asyncio.get_running_loop()
        self._waits_for: str | None = None
        self._lost = select.poll()
        self._lost.register(source, 0)  # tells errors only
        ends.source.hold(True)
        ends.sink.transport.set_write_buffer_limits(high=0)  # from now on `clogged` tells whether anything waits there

    def go(self) -> None:
        """Begins, or does not yet: it is called again when the sink has taken what was written before."""
        if self._waits_for is None and not self._ends.sink.clogged:
            self._wait_for("source")

    def close(self) -> None:
        """Lets go of everything; what is in the pipe is lost."""
        self._wait_for(None)
        self._waits_for = "nothing"
        os.close(self._in)
        os.close(self._out)
        PIPES.give(self._pipe)
        self._ends.source.hold(False)
        sink = self._ends.sink
        if not sink.lost and not sink.transport.is_closing():
            sink.transport.set_write_buffer_limits(high=WRITE_LIMIT)

    def _wait_for(self, side: str | None) -> None:
        if self._waits_for == "source":
            self._loop.remove_reader(self._in)
        elif self._waits_for == "sink":
            self._loop.remove_writer(self._out)
        self._waits_for = side
        if side == "source":
            self._loop.add_reader(self._in, self._guarded, self._read)
        elif side == "sink":
            self._loop.add_writer(self._out, self._guarded, self._write)

    def _guarded(self, step: Callable[[], None]) -> None:
        if self._waits_for != "nothing":
            step()

    def _read(self) -> None:
        try:
            moved = self._pipe.fill(self._in, min(self._body.left, PIPE_BYTES))
        except (BlockingIOError, InterruptedError):
            return  # woken for nothing
        except OSError:
            self._ends.source_lost()
            return
        if not moved:
            self._ends.source_ended()
            return
        self._body.left -= moved
        self._ends.source.came(moved)
        self._write()
        if self._waits_for == "source" and self._lost.poll(0):
            # libuv watches a socket no more once it has an error, though bytes wait there and the error is not read.
            self._loop.call_soon(self._guarded, self._read)

    def _write(self) -> None:
        try:
            given = self._pipe.drain(self._out)
        except OSError:
            self._ends.sink_lost()
            return
        self._ends.sink.went(given)
        if self._pipe.held:
            if self._waits_for != "sink":
                self._wait_for("sink")
        elif self._body.done:
            self._ends.passed()
        elif self._waits_for != "source":
            self._wait_for("source")
