"""Frame ends, found whatever the pieces are, and the frame that says goodbye."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Close, Frame, Opcode

from gateway.core.refusals import Code, Refusal
from gateway.core.websocket import FrameEnds, close_frame


@pytest.mark.parametrize("size", [1, 3, 100_000])
@pytest.mark.parametrize("mask", [False, True])
def test_ends_of_frames(size: int, mask: bool) -> None:
    """Short, 16-bit and 64-bit lengths, masked or not, in pieces of any size."""
    frames = [Frame(Opcode.BINARY, bytes(length)).serialize(mask=mask) for length in (0, 5, 125, 126, 70_000)]
    follower, ends, at = FrameEnds(), {0}, 0
    for frame in frames:
        ends.add(max(ends) + len(frame))
    stream = b"".join(frames)
    while at < len(stream):
        piece = stream[at : at + size]
        assert follower.feed(piece) == len(piece)
        at += len(piece)
        assert follower.between == (at in ends)
    assert follower.payload(b"x") == b"x"
    assert not follower.done


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_are_followed(pieces: list[bytes]) -> None:
    """An app may speak nonsense after the handshake: it is relayed all the same."""
    follower = FrameEnds()
    assert [follower.feed(piece) for piece in pieces] == [len(piece) for piece in pieces]


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_pieces_of_any_size_end_in_the_same_places(pieces: list[bytes]) -> None:
    """Whole frames are found by a shorter way than byte by byte, and the same ones."""
    whole, slow = FrameEnds(), FrameEnds()
    for piece in pieces:
        whole.feed(piece)
        for at in range(len(piece)):
            slow.feed(piece[at : at + 1])
        assert whole.between == slow.between


@pytest.mark.parametrize(("code", "number"), [(Code.WITHDRAWN, 1008), (Code.RESTARTING, 1012), (Code.TIMEOUT, 1001)])
def test_the_goodbye_tells_why(code: Code, number: int) -> None:
    """As a browser's `close` event shows it."""
    frame = close_frame(Refusal(code))
    assert frame[:2] == bytes([0x88, len(frame) - 2])
    assert Close.parse(frame[2:]) == Close(number, str(code))
