"""PostgreSQL's first packet, told from everything else, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.postgres import REQUEST_BYTES, Opening, error_response, read_opening

SSL = bytes.fromhex("0000000804d2162f")
STARTUP = bytes.fromhex("0000002600030000") + b"user\0alice\0\0"
HELLO = bytes.fromhex("1603010200010001fc0303")


@pytest.mark.parametrize(
    ("first", "opening"),
    [
        (SSL, Opening.SSL),
        (SSL + HELLO, Opening.SSL),
        (bytes.fromhex("0000000804d21630"), Opening.GSSENC),
        (bytes.fromhex("0000001004d2162e") + b"12345678", Opening.CANCEL),
        (STARTUP, Opening.PLAIN),
        (HELLO, Opening.OTHER),
        (b"GET / HTTP/1.1\r\n", Opening.OTHER),
        (b"\x10\x1a\x00\x04MQTT", Opening.OTHER),
        (bytes.fromhex("0000000804d2162d"), Opening.OTHER),
        (b"\0\0\0\0\0\0\0\0", Opening.OTHER),
        (b"\0\x01", Opening.OTHER),
    ],
)
def test_each_opening_is_told(first: bytes, opening: Opening) -> None:
    """The packets of the protocol, and what only looks a little like them."""
    assert read_opening(first) is opening


@pytest.mark.parametrize("packet", [SSL, STARTUP])
def test_a_part_of_a_packet_needs_more(packet: bytes) -> None:
    """Whatever the network cuts it into."""
    assert all(read_opening(packet[:count]) is None for count in range(1, REQUEST_BYTES))
    assert read_opening(b"") is None


@given(st.binary(max_size=64))
def test_a_verdict_never_changes_with_more_bytes(first: bytes) -> None:
    """Once told, told: reading on cannot turn one thing into another; eight bytes always suffice."""
    verdicts = [read_opening(first[:count]) for count in range(len(first) + 1)]
    told = [verdict for verdict in verdicts if verdict is not None]
    assert len(set(told)) <= 1
    assert verdicts[-1] is not None or len(first) < REQUEST_BYTES


@given(st.text())
def test_an_error_response_is_framed_right(sentence: str) -> None:
    """Kind, length of the rest, fields that end with zero, and a last zero; the sentence cannot break out."""
    message = error_response(sentence.encode("utf-8", "replace").decode())
    assert message[:1] == b"E"
    assert int.from_bytes(message[1:5], "big") == len(message) - 1
    assert message[5:].count(b"\0") == 5
    assert message.endswith(b"\0\0")
