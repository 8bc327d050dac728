"""Small typed values of bodies, queries and answers: instants, bounded text, pages, sentences' inputs."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from control.actions.acting import Withdrawal
from control.api.problems import FieldError
from control.api.route import Query, Shape
from control.domain.domains import PEM_CHARACTERS
from control.domain.errors import FieldCode
from control.domain.instants import parse_rfc3339, rfc3339

T = TypeVar("T")

_DATE_TIME: Final = {"type": "string", "format": "date-time"}
_INSTANT_CHARACTERS: Final = 40


def _read_instant(value: Any) -> float:
    if not isinstance(value, str) or len(value) > _INSTANT_CHARACTERS:
        raise FieldError(FieldCode.TYPE, wanted="RFC 3339")
    try:
        return parse_rfc3339(value)
    except (ValueError, OverflowError):
        raise FieldError(FieldCode.TYPE, wanted="RFC 3339 (2026-12-01T08:00:00Z)") from None


def _printable(text: str) -> str:
    if any(unicodedata.category(character) in _NO_TEXT for character in text):
        raise FieldError(FieldCode.CONTROL_CHARACTERS)
    return text


def _storable(text: str) -> str:
    # Neither a process's arguments nor PostgreSQL's text can hold NUL; lone surrogates are no text at all.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise FieldError(FieldCode.CONTROL_CHARACTERS)
    return text


def _read_reference(value: Any) -> Any:
    return str(value) if type(value) is int else value


_NO_TEXT: Final = frozenset({"Cc", "Cs"})

Instant = Annotated[float, PlainSerializer(rfc3339, return_type=str), WithJsonSchema(_DATE_TIME)]
"""An answer's time: seconds since the epoch inside, RFC 3339 UTC outside."""

When = Annotated[float, BeforeValidator(_read_instant), WithJsonSchema(_DATE_TIME)]
"""A time in a request."""

Line = Annotated[str, Field(max_length=200), AfterValidator(_printable)]
"""One line of text that people read: a name, a description."""

Raw = Annotated[str, Field(max_length=64 * 1024), AfterValidator(_storable)]
"""Text handed on as it is: an argument, a variable's value."""

Pem = Annotated[str, Field(max_length=PEM_CHARACTERS), AfterValidator(_storable)]
"""A certificate, chain or key as a PEM file holds it."""

Secret = Annotated[str, Field(max_length=2048), AfterValidator(_storable)]
"""A password, code or token on its way in. Its own rules are its noun's."""


Reference = Annotated[str, BeforeValidator(_read_reference), Field(max_length=64)]
"""What names an entry in a body: its id (a number or text) or its label."""


class PageQuery(Query):
    """Which page of a list."""

    page: int = Field(default=1, ge=1, le=1_000_000)
    per_page: int = Field(default=20, ge=1, le=100)


class Listed(Shape, Generic[T]):
    """One page of a list; `total` counts all pages."""

    items: list[T]
    total: int
    page: int
    per_page: int


def whole(items: list[T]) -> Listed[T]:
    """A list that is short enough to come whole."""
    return Listed(items=items, total=len(items), page=1, per_page=max(len(items), 1))


class Withdrawn(Shape):
    """The answer of a call that took a right away: who has not confirmed yet, and by when it stops at the latest."""

    pending: list[str]
    stops_by: Instant | None


def print_withdrawn(withdrawal: Withdrawal) -> Withdrawn:
    """What became of a right that was taken away."""
    return Withdrawn(pending=list(withdrawal.pending), stops_by=withdrawal.stops_by)
