"""Frames over a socket: whole, bounded, and honest about how the stream ended; on both loops."""

from __future__ import annotations

import asyncio
import socket

import pytest

from gateway.contract.bridge import FRAME_LIMIT, FrameKind, encode_frame, encode_frame_json
from gateway.wire.frames import Frames, payload_of
from tests.gateway.loops import Runner, both_loops


@both_loops
def test_frames_pass_both_ways(run: Runner) -> None:
    """What one side writes the other reads, kind by kind; the end is None."""

    async def body() -> None:
        near, far = socket.socketpair()
        async with await Frames.over(near) as mine, await Frames.over(far) as theirs:
            await mine.write(FrameKind.DATA, b"ls\n")
            await mine.write_json(FrameKind.RESIZE, rows=50, cols=132)
            await mine.write(FrameKind.EOF)
            assert await theirs.read() == (FrameKind.DATA, b"ls\n")
            kind, payload = await theirs.read() or (None, b"")
            assert (kind, payload_of(payload)) == (FrameKind.RESIZE, {"rows": 50, "cols": 132})
            assert await theirs.read() == (FrameKind.EOF, b"")
            await mine.close()
            assert await theirs.read() is None

    run(body())


async def test_long_data_goes_in_several_frames() -> None:
    """A frame's limit holds, whatever is written at once."""
    near, far = socket.socketpair()
    data = bytes(range(256)) * (2 * FRAME_LIMIT // 256 + 1)
    async with await Frames.over(near) as mine, await Frames.over(far) as theirs, asyncio.TaskGroup() as group:
        group.create_task(mine.write(FrameKind.DATA, data))
        parts = [await theirs.read() for _ in range(3)]
    assert b"".join(part[1] for part in parts if part) == data


async def test_a_writer_waits_for_its_reader() -> None:
    """The job does not read: writing comes to a halt instead of filling memory."""
    near, far = socket.socketpair()
    async with await Frames.over(near) as mine:
        with far, pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await mine.write(FrameKind.DATA, bytes(8 * FRAME_LIMIT))
        mine.abort()


@pytest.mark.parametrize(
    "cut",
    [
        b"\x00\x00",
        encode_frame(FrameKind.DATA, b"hello")[:-1],
        b"\x09\x00\x00\x00\x00",
        b"\x00\xff\xff\xff\xff",
    ],
)
async def test_a_cut_or_malformed_stream_is_a_broken_connection(cut: bytes) -> None:
    """An end within a frame, an unknown kind, a huge length: none of them passes for an end."""
    near, far = socket.socketpair()
    async with await Frames.over(near) as mine:
        with far:
            far.send(cut)
            far.shutdown(socket.SHUT_WR)
            with pytest.raises(ConnectionError):
                await mine.read()


async def test_abort_ends_a_read_that_waits() -> None:
    """A visit that is cut does not hang in its read."""
    near, far = socket.socketpair()
    with far:
        async with await Frames.over(near) as mine, asyncio.TaskGroup() as group:
            reading = group.create_task(mine.read())
            await asyncio.sleep(0)
            mine.abort()
            assert await reading is None


async def test_closing_a_broken_stream_is_quiet() -> None:
    """The peer is gone with our data unread: closing does not raise."""
    near, far = socket.socketpair()
    mine = await Frames.over(near)
    far.close()
    with pytest.raises(ConnectionError):
        await mine.write(FrameKind.DATA, bytes(100 * FRAME_LIMIT))
    await mine.close()


@pytest.mark.parametrize("payload", [b"", b"[1]", b"\xff"])
def test_a_payload_that_is_no_object_is_a_fault(payload: bytes) -> None:
    """EXIT, RESIZE and SIGNAL carry JSON objects and nothing else."""
    with pytest.raises(ConnectionError):
        payload_of(payload)


def test_an_exit_is_read() -> None:
    """The exit's fields come as they were sent."""
    frame = encode_frame_json(FrameKind.EXIT, status=7)
    assert payload_of(frame[5:]) == {"status": 7}
