"""Moves bytes between two sockets until both directions have ended.

Each direction ends by itself: an orderly end of one side is passed on as a half-close and the other
direction goes on (the reply to `printf x | nc -N` still arrives). A side that does not read stops
the reading of the other. A reset is passed on as a reset, never as an orderly end, so that nobody
takes half an answer for a whole one. At most one buffer's worth waits per direction, and an idle
relay holds no buffer. Works on uvloop and on the stock loop. A direction in which much comes at once
is moved through a pipe inside the kernel where the system can do that; small pieces are copied, which
costs less for them.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import struct
from collections.abc import Callable
from typing import Final

from gateway.wire.splice import PIPE_BYTES, PIPES, Pipe

BUFFER_BYTES: Final = 256 * 1024
MUCH_BYTES: Final = 64 * 1024
"""What a read must have brought for the next one to go through a pipe."""
LITTLE_BYTES: Final = 8 * 1024
"""What a pipe must have brought for the next read to go through one again."""
CHECK_S: Final = 30.0
"""How often a side that half-closed is looked at: has it gone for good?"""
KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4))
"""When the kernel asks a silent peer whether it is there, how often then, and how many times."""
_RESET: Final = struct.pack("ii", 1, 0)

Count = Callable[[int, int], None]
"""Is told bytes as they pass: from left to right, from right to left (fits `Visit.count`)."""


async def relay(left: socket.socket, right: socket.socket, *, count: Count) -> None:
    """Relays between two connected, non-blocking sockets; the caller closes both afterwards.

    Returns when both directions have ended in order. Raises ConnectionError when a side was reset,
    having made the other's close a reset too.
    """
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ways = (
        _Way(left, right, lambda size: count(size, 0), done),
        _Way(right, left, lambda size: count(0, size), done),
    )
    ways[0].twin, ways[1].twin = ways[1], ways[0]
    try:
        for way in ways:
            way.start()
        await done
    except OSError as fault:
        for side in (left, right):
            reset_on_close(side)
        raise ConnectionError(f"a side broke off: {fault}") from fault
    finally:
        for way in ways:
            way.stop()


def reset_on_close(sock: socket.socket) -> None:
    """Makes the socket's close a reset, where its family knows one."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


def watch_over(sock: socket.socket) -> None:
    """Sends small pieces at once, and has the kernel find out within about two minutes that a peer vanished."""
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


class _Way:
    """One direction: what is read from `source` is written to `sink`."""

    twin: _Way

    def __init__(
        self, source: socket.socket, sink: socket.socket, passed: Callable[[int], None], done: asyncio.Future[None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._sink = sink
        self._passed = passed
        self._done = done
        self._lost = select.poll()
        self._lost.register(source, 0)  # tells errors only
        self._held = memoryview(b"")
        self._pipe: Pipe | None = None
        self._much = False
        self._check: asyncio.TimerHandle | None = None
        self.ended = False

    def start(self) -> None:
        self._loop.add_reader(self._source.fileno(), self._guarded, self._read)

    def stop(self) -> None:
        self._loop.remove_reader(self._source.fileno())
        self._loop.remove_writer(self._sink.fileno())
        if self._pipe is not None:
            PIPES.give(self._pipe)
            self._pipe = None
        if self._check is not None:
            self._check.cancel()

    def _guarded(self, step: Callable[[], None]) -> None:
        if self._done.done():
            return
        try:
            step()
        except (BlockingIOError, InterruptedError):
            pass  # woken for nothing
        except OSError as fault:
            self.stop()
            if not self._done.done():
                self._done.set_exception(fault)

    def _read(self) -> None:
        pipe = PIPES.take() if self._much else None
        size = self._copy() if pipe is None else self._splice(pipe)
        if size == 0:
            self._finish()
            return
        self._passed(size)
        self._much = size >= (MUCH_BYTES if pipe is None else LITTLE_BYTES)
        if self._held or self._pipe is not None:
            self._loop.remove_reader(self._source.fileno())
            self._loop.add_writer(self._sink.fileno(), self._guarded, self._flush)
        elif self._lost.poll(0):
            # libuv watches a socket no more once it has an error, though bytes wait there and the error is not read.
            self._loop.call_soon(self._guarded, self._read_on)

    def _read_on(self) -> None:
        """Reads, unless the socket was watched after all and what came meanwhile waits for the sink."""
        if not self._held and self._pipe is None and not self.ended:
            self._read()

    def _copy(self) -> int:
        """Moves what came; how much it was. What the sink does not take now is held."""
        size = self._source.recv_into(_BUFFER)
        sent = _send(self._sink, _VIEW[:size]) if size else 0
        if sent < size:
            self._held = memoryview(bytes(_VIEW[sent:size]))
        return size

    def _splice(self, pipe: Pipe) -> int:
        """The same through a pipe, which holds what the sink does not take now."""
        try:
            size = pipe.fill(self._source.fileno(), PIPE_BYTES)
            pipe.drain(self._sink.fileno())
        except OSError:
            PIPES.give(pipe)
            raise
        if pipe.held:
            self._pipe = pipe
        else:
            PIPES.give(pipe)
        return size

    def _flush(self) -> None:
        if self._pipe is not None:
            self._pipe.drain(self._sink.fileno())
            if not self._pipe.held:
                PIPES.give(self._pipe)
                self._pipe = None
        else:
            self._held = self._held[self._sink.send(self._held) :]
        if not self._held and self._pipe is None:
            self._loop.remove_writer(self._sink.fileno())
            self.start()

    def _finish(self) -> None:
        self.ended = True
        self._loop.remove_reader(self._source.fileno())
        self._sink.shutdown(socket.SHUT_WR)
        if not self.twin.ended:
            self._check_later()
        elif not self._done.done():
            self._done.set_result(None)

    def _check_later(self) -> None:
        self._check = self._loop.call_later(CHECK_S, self._guarded, self._look_for_a_reset)

    def _look_for_a_reset(self) -> None:
        """A side that ended in order is watched no more; without this a later reset of it would pass unnoticed."""
        number = self._source.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number))
        if not self.twin.ended:
            self._check_later()


_BUFFER: Final = bytearray(BUFFER_BYTES)
"""Shared by all relays of the process: it is full only within one callback."""
_VIEW: Final = memoryview(_BUFFER)


def _send(sink: socket.socket, data: memoryview) -> int:
    try:
        return sink.send(data)
    except (BlockingIOError, InterruptedError):
        return 0
