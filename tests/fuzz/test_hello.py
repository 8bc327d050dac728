"""The ClientHello reader and the sniffer against anything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.core.hello import Hello, read_hello
from gateway.core.sniff import SNIFF_BYTES, sniff
from tests.gateway.core.test_hello import hello_of

WHOLE = hello_of("a.example", "h2", "http/1.1")


@settings(max_examples=500)
@given(st.data())
def test_a_damaged_hello_is_read_or_refused(data: st.DataObject) -> None:
    """Flipped, cut and stretched bytes give a Hello, None or a ValueError."""
    damaged = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(0, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))]) + data.draw(st.binary(max_size=20))
    try:
        read = read_hello(cut)
    except ValueError:
        return
    assert read is None or isinstance(read, Hello)


@given(st.binary(max_size=SNIFF_BYTES + 4))
def test_more_bytes_never_change_a_verdict(first: bytes) -> None:
    """Once told, the protocol stays; and after four bytes it is told."""
    verdicts = [sniff(first[:end]) for end in range(len(first) + 1)]
    told = [verdict for verdict in verdicts if verdict is not None]
    assert len(set(told)) <= 1
    assert told or len(first) < SNIFF_BYTES
