"""Frames as the shim reads and writes them, against the platform's own encoder."""

from __future__ import annotations

import asyncio
import socket

import pytest

from control.agent.shim import frames
from control.agent.shim.frames import DATA, EOF, EXIT, Frames
from gateway.contract.bridge import (
    FRAME_HEAD_BYTES,
    FRAME_LIMIT,
    FrameKind,
    decode_frame_head,
    encode_frame,
    encode_frame_json,
)


def test_the_kinds_are_the_contracts() -> None:
    """The agent imports nothing of ours, so its numbers are compared here."""
    ours = {kind.name: int(kind) for kind in FrameKind}
    assert {name: getattr(frames, name) for name in ours} == ours
    assert frames.FRAME_LIMIT == FRAME_LIMIT


async def test_frames_pass_both_ways() -> None:
    """What one side encodes the other decodes, empty payloads included."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream = Frames(ours)
        theirs.sendall(encode_frame(FrameKind.DATA, b"\xff\0") + encode_frame(FrameKind.EOF))
        assert await stream.read() == (DATA, b"\xff\0")
        assert await stream.read() == (EOF, b"")
        await stream.write_json(EXIT, {"status": 3})
        message = theirs.recv(100)
        assert message == encode_frame_json(FrameKind.EXIT, status=3)
        assert decode_frame_head(message[:FRAME_HEAD_BYTES]) == (FrameKind.EXIT, len(message) - FRAME_HEAD_BYTES)


@pytest.mark.parametrize("head", [b"\x06\0\0\0\0", b"\0\xff\xff\xff\xff"])
async def test_what_is_no_frame_is_refused(head: bytes) -> None:
    """An unknown kind, or a length that would have to be held in memory."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(head)
        with pytest.raises(ValueError, match="no frame"):
            await Frames(ours).read()


@pytest.mark.parametrize("cut", [0, 3, 7])
async def test_an_end_in_the_middle_is_the_end(cut: int) -> None:
    """Half a frame is never delivered."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(encode_frame(FrameKind.DATA, b"hello")[:cut])
        theirs.close()
        assert await Frames(ours).read() is None


async def test_frames_of_two_writers_do_not_mix() -> None:
    """Both outputs of a program write at once; each frame stays whole."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        stream = Frames(ours)
        async with asyncio.TaskGroup() as group:
            for letter in (b"a", b"b"):
                group.create_task(stream.write(DATA, letter * FRAME_LIMIT))
            reader = Frames(theirs)
            for _ in range(2):
                frame = await reader.read()
                assert frame is not None
                assert len(set(frame[1])) == 1
