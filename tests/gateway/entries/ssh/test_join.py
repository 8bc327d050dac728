"""Joining a channel with frames: how streams end."""

import asyncio
import socket
from typing import cast

import pytest

from gateway.contract.bridge import FrameKind, encode_frame, encode_frame_json
from gateway.entries.ssh.ends import Inlet, Outlet
from gateway.entries.ssh.join import Exit, join
from gateway.entries.ssh.protocol import Connection
from gateway.wire.frames import Frames
from gateway.wire.visits import Visit
from tests.gateway.entries.ssh.test_ends import Tap, Wire


class Counter:
    """Stands for a visit."""

    def __init__(self) -> None:
        self.counted = [0, 0]

    def count(self, inward: int, outward: int) -> None:
        """Adds bytes."""
        self.counted[0] += inward
        self.counted[1] += outward


async def joined(said: bytes, wire: Wire, counter: Counter) -> Exit | None:
    """What a stream that says this ends with."""
    near, far = socket.socketpair()
    near.setblocking(False)
    tap = Tap()
    with far:
        far.sendall(said)
        far.shutdown(socket.SHUT_WR)
        async with await Frames.over(near) as frames:
            inlet, outlet = Inlet(tap.pause, tap.resume), Outlet(cast("Connection", wire), wire)
            return await join(inlet, outlet, frames, cast("Visit", counter))


@pytest.mark.parametrize(
    ("last", "ending"),
    [
        (encode_frame_json(FrameKind.EXIT, status=3), Exit(3)),
        (encode_frame_json(FrameKind.EXIT, signal="KILL"), Exit(signal="KILL")),
        (encode_frame_json(FrameKind.EXIT), Exit(255)),
        (b"", None),
        (encode_frame(FrameKind.DATA, b"x")[:-1], None),
        (b"\xff" * 5, None),
    ],
)
async def test_a_stream_ends_as_it_says_or_as_broken(last: bytes, ending: Exit | None) -> None:
    """Status, signal, neither; the end without an exit, within a frame, in garbage."""
    wire, counter = Wire(), Counter()
    said = encode_frame(FrameKind.DATA, b"out") + encode_frame(FrameKind.ERROR, b"err")
    said += encode_frame(FrameKind.RESIZE) + encode_frame(FrameKind.EOF)
    assert await joined(said + last, wire, counter) == ending
    assert wire.written == [(b"out", None), (b"err", 1)]
    assert counter.counted == [0, 6]


async def test_a_closed_channel_is_told_as_a_broken_connection() -> None:
    """Not wrapped in a group: the session tells it from its own faults."""

    class Closed(Wire):
        def write(self, data: bytes, datatype: int | None = None) -> None:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await joined(encode_frame(FrameKind.DATA, b"x"), Closed(), Counter())
    await asyncio.sleep(0)
