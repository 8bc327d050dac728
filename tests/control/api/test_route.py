"""Reading a call off its handler's own signature."""

from __future__ import annotations

import pytest
from aiohttp import web

from control.api.asked import Asked
from control.api.route import Access, Answer, Body, Query, Shape, route


class Wish(Body):
    """A body."""


class Narrow(Query):
    """A query."""


class Thing(Shape):
    """An answer."""


async def make(asked: Asked, job: str, key: int, body: Wish, query: Narrow) -> Answer[Thing]:
    """Makes a thing."""
    raise NotImplementedError


async def drop(asked: Asked) -> None:
    """Drops everything."""


async def pour(asked: Asked) -> web.StreamResponse:
    """Pours bytes."""
    raise NotImplementedError


def test_body_query_parts_and_answer_come_from_the_annotations() -> None:
    """There is no second place where they are told."""
    read = route("POST", "/jobs/{job}/keys/{key}", make, access=Access.ADMIN, status=201)
    assert (read.name, read.body, read.query, read.answer) == ("make", Wish, Narrow, Thing)
    assert read.parts == {"job": str, "key": int}
    assert route("DELETE", "/all", drop, status=204).answer is None
    assert route("GET", "/bytes", pour).answer is None


@pytest.mark.parametrize("path", ["/jobs/{job}", "/jobs/{job}/keys/{key}/{more}", "/jobs/{id}/keys/{key}"])
def test_a_path_that_does_not_fit_the_handler_is_a_fault_at_the_start(path: str) -> None:
    """Not at the first call."""
    with pytest.raises(TypeError, match="make takes"):
        route("POST", path, make)
