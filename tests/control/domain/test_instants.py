"""Instants are printed and read as RFC 3339, and as the manual writes them."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.domain.instants import manual_time, parse_rfc3339, rfc3339


def test_rfc3339_is_utc_with_milliseconds() -> None:
    """One shape for all programs."""
    assert rfc3339(1622787619.25) == "2021-06-04T06:20:19.250Z"
    assert rfc3339(None) is None


def test_manual_time_is_china_standard_time() -> None:
    """As in the manual's examples; another zone on request."""
    assert manual_time(1622787619.0) == "2021-06-04 14:20:19 +0800 CST"
    assert manual_time(1622787619.0, UTC) == "2021-06-04 06:20:19 +0000 UTC"


@given(st.integers(min_value=0, max_value=4_000_000_000_000))
def test_printed_instants_read_back(milliseconds: int) -> None:
    """Nothing is lost down to the millisecond."""
    text = rfc3339(milliseconds / 1000)
    assert text is not None
    assert parse_rfc3339(text) == pytest.approx(milliseconds / 1000, abs=0.0011)


@pytest.mark.parametrize("text", ["2021-06-04T06:20:19", "yesterday", ""])
def test_instant_without_zone_is_refused(text: str) -> None:
    """A time without a zone is not an instant."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_rfc3339(text)
