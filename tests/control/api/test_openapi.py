"""The OpenAPI document: made from the code's own types, and the same as the golden file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from control.api.app import ROUTES
from control.api.document import render
from control.api.route import Access, Media, Route
from tests.control.api.desk import Desk

GOLDEN = Path(__file__).parents[2] / "golden" / "openapi.json"
REWRITE = "STARLIGHT_REWRITE_GOLDEN"
"""Set to 1, the golden files are written anew; the diff is reviewed."""


def test_the_document_is_the_golden_one() -> None:
    """A change of the API shows in a review as a change of this file."""
    made = render(ROUTES)
    if os.environ.get(REWRITE) == "1":
        GOLDEN.write_bytes(made)
    assert made.decode() == GOLDEN.read_text(), f"run this test once with {REWRITE}=1 and look at the diff"


def test_making_it_twice_gives_the_same_bytes() -> None:
    """No set order, address or clock gets into it."""
    assert render(ROUTES) == render(ROUTES)


async def test_anyone_can_read_it(desk: Desk) -> None:
    """No sign-in is needed to learn how to sign in."""
    shown = await desk.anyone.get("/openapi.json")
    assert (shown.status, shown.body["openapi"]) == (200, "3.1.0")


def test_every_call_is_described() -> None:
    """A summary for each, a unique name, and every reference leads somewhere."""
    document = json.loads(render(ROUTES))
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len(operations) == len(ROUTES)
    assert all(operation["summary"].endswith(".") for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(ROUTES)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert references(document) <= known


def test_what_needs_no_sign_in_says_so() -> None:
    """The document tells which calls are open to anyone, and which are for administrators."""
    paths = json.loads(render(ROUTES))["paths"]
    for route in ROUTES:
        operation = paths[route.path][route.method.lower()]
        assert (operation["security"] == []) == (route.access is Access.ANYONE)
        assert operation.get("x-admin", False) == (route.access is Access.ADMIN)


def test_answers_are_typed() -> None:
    """Every JSON answer has a schema; only sockets, bytes and the document itself do not."""
    untyped = {route.name for route in ROUTES if route.answer is None and not _needs_no_shape(route)}
    assert untyped == {"show_document"}


def references(part: Any) -> set[str]:
    """Every $ref below a part of the document."""
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*(references(each) for each in part.values()))
    return set().union(*(references(each) for each in part)) if isinstance(part, list) else set()


def _needs_no_shape(route: Route) -> bool:
    return route.status == 204 or route.media is not Media.JSON
