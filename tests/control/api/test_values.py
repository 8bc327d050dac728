"""Small typed values of bodies, queries and answers."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from control.actions.acting import Withdrawal
from control.api.values import Instant, Line, Listed, Raw, Reference, When, print_withdrawn, whole


@pytest.mark.parametrize(
    ("text", "instant"),
    [("1970-01-01T00:00:10Z", 10.0), ("1970-01-01T08:00:10+08:00", 10.0), ("1970-01-01T00:00:10.5Z", 10.5)],
)
def test_a_time_is_read_with_its_zone(text: str, instant: float) -> None:
    """RFC 3339, whatever the zone."""
    assert TypeAdapter(When).validate_python(text) == instant


@pytest.mark.parametrize(
    "value", ["", "tomorrow", "1970-01-01", "1970-01-01T00:00:10", 10, None, "x" * 500, "0000-01-01T00:00:00Z"]
)
def test_what_is_no_time_is_refused(value: object) -> None:
    """A number or a time without a zone is anyone's guess."""
    with pytest.raises(ValidationError):
        TypeAdapter(When).validate_python(value)


def test_a_time_is_printed_in_utc() -> None:
    """As the contract says."""
    assert TypeAdapter(Instant).dump_python(10.25, mode="json") == "1970-01-01T00:00:10.250Z"


@pytest.mark.parametrize("text", ["a\nb", "a\0b", "a\x1bb", "\ud800", "x" * 201])
def test_a_line_is_one_line_of_text(text: str) -> None:
    """Nothing that would break a log, a terminal or a database."""
    with pytest.raises(ValidationError):
        TypeAdapter(Line).validate_python(text)


def test_raw_text_may_hold_everything_that_can_be_stored() -> None:
    """Lines and tabs of a script; but no NUL and no half character."""
    assert TypeAdapter(Raw).validate_python("a\n\tb\x1b") == "a\n\tb\x1b"
    for text in ("a\0b", "\udfff"):
        with pytest.raises(ValidationError):
            TypeAdapter(Raw).validate_python(text)


def test_an_entry_is_named_by_number_or_text() -> None:
    """Both are the same afterwards; true is no number."""
    adapter = TypeAdapter(Reference)
    assert adapter.validate_python(17) == adapter.validate_python("17") == "17"
    with pytest.raises(ValidationError):
        adapter.validate_python(True)


def test_a_short_list_comes_whole() -> None:
    """One page of the same shape as all lists."""
    assert whole([1, 2]) == Listed(items=[1, 2], total=2, page=1, per_page=2)
    assert whole([]).per_page == 1


def test_a_withdrawal_says_who_is_pending() -> None:
    """And by when they stop."""
    printed = print_withdrawn(Withdrawal(("web-0",), 10.0)).model_dump(mode="json")
    assert printed == {"pending": ["web-0"], "stops_by": "1970-01-01T00:00:10.000Z"}
