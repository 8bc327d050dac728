"""Whatever a client begins with, PostgreSQL's opening is told from it without a fault."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.core.postgres import REQUEST_BYTES, Opening, read_opening

PACKETS = [
    bytes.fromhex(text) for text in ("0000000804d2162f", "0000000804d21630", "0000001004d2162e", "0000002600030000")
]


@settings(max_examples=1000)
@given(st.builds(lambda head, rest: head + rest, st.sampled_from([b"", *PACKETS]), st.binary(max_size=32)), st.data())
@example(b"\0" * 8, None)
def test_any_bytes_have_a_verdict(first: bytes, data: st.DataObject | None) -> None:
    """Eight bytes decide, and changing what follows changes nothing; one byte changed makes no fault either."""
    verdict = read_opening(first)
    assert (verdict is None) <= (len(first) < REQUEST_BYTES)
    assert verdict in (None, *Opening)
    if data is not None and first:
        at = data.draw(st.integers(0, len(first) - 1))
        read_opening(first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :])
        assert verdict is None or read_opening(first + b"more") is verdict
