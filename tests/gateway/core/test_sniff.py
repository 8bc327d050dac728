"""First bytes and what they say."""

from __future__ import annotations

import pytest

from gateway.core.sniff import Speech, sniff


@pytest.mark.parametrize(
    ("first", "speech"),
    [
        (b"", None),
        (b"\x16", None),
        (b"\x16\x03\x01\x02", Speech.TLS),
        (b"\x16\x02", Speech.UNKNOWN),
        (b"S", None),
        (b"SSH", None),
        (b"SSH-2.0-x", Speech.SSH),
        (b"SEARCH / HTTP/1.1", Speech.HTTP),
        (b"GET ", Speech.HTTP),
        (b"\r\nGET ", Speech.HTTP),
        (b"\x00\x01", Speech.UNKNOWN),
        (b"\x80\x2e", Speech.UNKNOWN),
    ],
)
def test_first_bytes_tell_the_protocol(first: bytes, speech: Speech | None) -> None:
    """Each protocol is known by its first bytes, and never before they suffice."""
    assert sniff(first) is speech
