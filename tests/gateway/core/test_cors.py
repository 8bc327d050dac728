"""CORS by the owner's choice: named origins alone, preflights answered, one answer to each question."""

from __future__ import annotations

import dataclasses

import pytest

from gateway.core import cors
from gateway.core.http1 import RequestHead, parse_request
from tests.gateway import world

ENTRY = dataclasses.replace(world.entry(), cors_origins=("https://app.example",))


def head(method: str = "GET", *lines: str) -> RequestHead:
    """A request's head."""
    return parse_request("\r\n".join([f"{method} / HTTP/1.1", "Host: a", *lines, "", ""]).encode())


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ("https://app.example", "https://app.example"),
        ("https://APP.example", "https://app.example"),
        ("https://app.example:8443", None),
        ("http://app.example", None),
        ("null", None),
        ("*", None),
    ],
)
def test_only_named_origins_count(origin: str, named: str | None) -> None:
    """Scheme, host and port: all of it."""
    assert cors.named_origin(head("GET", f"Origin: {origin}"), ENTRY) == named


def test_no_origin_is_none() -> None:
    """Neither a missing header nor an entry that names nobody lets anybody in."""
    assert cors.named_origin(head(), ENTRY) is None
    assert cors.named_origin(head("GET", "Origin: https://app.example"), world.entry()) is None


def test_a_preflight_is_told_by_its_three_marks() -> None:
    """An OPTIONS request without them is the app's own."""
    marks = ("Origin: https://app.example", "Access-Control-Request-Method: PUT")
    assert cors.is_preflight(head("OPTIONS", *marks))
    assert not cors.is_preflight(head("OPTIONS", marks[0]))
    assert not cors.is_preflight(head("OPTIONS", marks[1]))
    assert not cors.is_preflight(head("PUT", *marks))


def test_the_answer_names_the_origin_and_what_was_asked() -> None:
    """Never `*`, which would forbid credentials."""
    asked = head(
        "OPTIONS",
        "Origin: https://app.example",
        "Access-Control-Request-Method: PUT",
        "Access-Control-Request-Headers: x-starlight-token",
    )
    told = dict(cors.preflight_lines(asked, "https://app.example"))
    assert told["Access-Control-Allow-Origin"] == "https://app.example"
    assert told["Access-Control-Allow-Credentials"] == "true"
    assert (told["Access-Control-Allow-Methods"], told["Access-Control-Allow-Headers"]) == ("PUT", "x-starlight-token")
    assert "Access-Control-Allow-Headers" not in dict(
        cors.preflight_lines(head("OPTIONS", "Access-Control-Request-Method: PUT"), "https://app.example")
    )
    assert cors.raw([("A", "b"), ("C", "d")]) == b"A: b\r\nC: d\r\n"
