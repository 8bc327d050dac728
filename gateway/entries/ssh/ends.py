"""One SSH channel as two bounded ends: an inlet of what its client sends, an outlet to its client.

The inlet keeps data and requests in one queue, so that a resize or an end of input never overtakes
the bytes before it. The outlet writes no faster than the client's window and the connection's
transport take; each channel waits for itself, so that a stalled one stalls no other.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from asyncssh import EXTENDED_DATA_STDERR

from gateway.entries.ssh.protocol import Connection

_CHUNK_BYTES: Final = 32 * 1024
_HELD_BYTES: Final = 128 * 1024
_HELD_SIGNALS: Final = 16


@dataclass(frozen=True, slots=True)
class Resize:
    """The client's terminal has a new size, in cells."""

    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class Signal:
    """The client asks for a signal, by its name without SIG (RFC 4254 section 6.9)."""

    name: str


@dataclass(frozen=True, slots=True)
class End:
    """The client sends no more data."""


Item = bytes | Resize | Signal | End


class Inlet:
    """What came from the client and was not taken yet."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """`pause` and `resume` stop and start the channel's delivery of data."""
        self._pause, self._resume = pause, resume
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._signals = 0
        self._paused = False
        self._some = asyncio.Event()

    def put(self, item: Item) -> None:
        """Adds what came. Too many signals are dropped; of several resizes in a row only the last counts."""
        match item:
            case bytes():
                self._bytes += len(item)
            case Signal():
                if self._signals >= _HELD_SIGNALS:
                    return
                self._signals += 1
            case Resize() if self._items and isinstance(self._items[-1], Resize):
                self._items.pop()
        self._items.append(item)
        self._some.set()
        if self._bytes > _HELD_BYTES and not self._paused:
            self._paused = True
            self._pause()

    def give_back(self, data: bytes) -> None:
        """Puts data that was taken but not used before everything else."""
        if data:
            self._items.appendleft(data)
            self._bytes += len(data)
            self._some.set()

    async def get(self) -> Item:
        """The next item, once there is one. Small pieces of data come together. May be cancelled."""
        while not self._items:
            self._some.clear()
            await self._some.wait()
        item = self._items.popleft()
        if isinstance(item, bytes):
            item = self._joined(item)
        elif isinstance(item, Signal):
            self._signals -= 1
        if self._paused and self._bytes <= _HELD_BYTES // 2:
            self._paused = False
            self._resume()
        return item

    def _joined(self, first: bytes) -> bytes:
        pieces, size = [first], len(first)
        while self._items and isinstance(piece := self._items[0], bytes) and size + len(piece) <= _HELD_BYTES:
            self._items.popleft()
            pieces.append(piece)
            size += len(piece)
        self._bytes -= size
        return b"".join(pieces)


class Writable(Protocol):
    """The part of a channel that an outlet uses: session channels and forwarded ones have it."""

    def write(self, data: bytes, datatype: int | None = None) -> None: ...

    def write_eof(self) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...


class Outlet:
    """The way to the client."""

    def __init__(self, connection: Connection, channel: Writable) -> None:
        """Makes the channel call `pause` as soon as it holds a byte that the client's window did not take."""
        self._connection, self._channel = connection, channel
        self._clear = asyncio.Event()
        self._clear.set()
        self._ended = False
        channel.set_write_buffer_limits(high=0)

    @property
    def clear(self) -> bool:
        """Whether everything written so far is on its way."""
        return self._clear.is_set()

    def pause(self) -> None:
        """The channel holds bytes that the client does not take yet."""
        self._clear.clear()

    def resume(self) -> None:
        """The channel holds none any more."""
        self._clear.set()

    async def write(self, data: bytes, *, error: bool = False) -> None:
        """Sends data, as standard error where asked, and waits while the client does not take it.

        Raises ConnectionError when the channel is closed.
        """
        view = memoryview(data)
        for start in range(0, len(data), _CHUNK_BYTES):
            await self.flush()
            # From here to the write nothing waits: another channel cannot use up the room meanwhile.
            self._channel.write(bytes(view[start : start + _CHUNK_BYTES]), EXTENDED_DATA_STDERR if error else None)

    async def flush(self) -> None:
        """Waits until everything written is on its way and the transport takes more."""
        while not (self._clear.is_set() and self._connection.room.is_set()):
            await self._clear.wait()
            await self._connection.room.wait()

    async def end(self) -> None:
        """Tells the client that no more data comes, after all data. The other direction stays open."""
        await self.flush()
        if not self._ended:
            self._ended = True
            self._channel.write_eof()
