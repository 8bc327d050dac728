"""Frames that nobody would send: whatever comes is frames, or ends the connection in order."""

from __future__ import annotations

import pytest
from h2.events import RequestReceived
from h2.exceptions import ProtocolError
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core import http1, http2
from gateway.core.http1 import Malformed
from gateway.entries.http2.peer import Peer

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    """A frame with these very bytes."""
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


FRAMES = st.lists(
    st.builds(
        frame,
        st.sampled_from([*range(10), 0x0C, 0x10, 0xBE]),
        st.sampled_from([0, 1, 4, 5, 8, 0x20, 0x2D, 0xFF]),
        st.sampled_from([0, 1, 1, 1, 2, 3, 5, 2**31 - 1, 2**32 - 1]),
        st.one_of(
            st.binary(max_size=40), st.sampled_from([b"\x82\x84\x87\x41\x01h", b"\0\0\0\1", b"\0\3\0\0\0\1", bytes(8)])
        ),
    ),
    max_size=12,
)


@pytest.mark.parametrize("client_side", [False, True], ids=["from people", "from apps"])
@settings(max_examples=150)
@given(FRAMES, st.booleans())
def test_any_frames_are_taken_or_are_a_protocol_error(client_side: bool, frames: list[bytes], whole: bool) -> None:
    """No other exception leaves the library; what is a request becomes one for HTTP/1.1, or is malformed."""
    peer = Peer(client_side=client_side)
    peer.open()
    if client_side:
        peer.send_headers(1, [(b":method", b"GET"), (b":path", b"/")])
    said = (b"" if client_side else PREFACE) + frame(4, 0, 0, b"") + b"".join(frames)
    for piece in [said] if whole else [said[at : at + 7] for at in range(0, len(said), 7)]:
        try:
            events = peer.receive_data(piece)
        except ProtocolError:
            return
        for event in events:
            if isinstance(event, RequestReceived):
                judge(event.headers)


def judge(headers: list[http2.Header]) -> None:
    """One request, or none."""
    try:
        opening = http2.request_opening(headers, ended=True, nonce=bytes(16))
        http1.parse_request(opening.head)
    except Malformed:
        return
    assert http1.head_end(opening.head) == len(opening.head)
