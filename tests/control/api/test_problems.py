"""Refusals as RFC 9457 problems: pydantic's findings told in our words, at the fields."""

from __future__ import annotations

import json
import sqlite3
from typing import Annotated, Literal

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from pydantic import AfterValidator, Field, ValidationError
from sqlalchemy.exc import OperationalError

from control.api.problems import FieldError, field_faults, print_problem, speak_problems
from control.api.route import Body
from control.domain.errors import Code, FieldCode, Problem


def _refuse(text: str) -> str:
    raise FieldError(FieldCode.RESERVED, value=text)


class Inner(Body):
    """A shape in a list."""

    level: Literal["low", "high"]


class Shape(Body):
    """One field of each kind."""

    name: Annotated[str, Field(min_length=2, max_length=4)] = "okay"
    count: Annotated[int, Field(ge=1, le=9)] = 1
    inner: Annotated[list[Inner], Field(max_length=2)] = Field(default_factory=list)
    word: Annotated[str, AfterValidator(_refuse)] | None = None
    needed: bool


@pytest.mark.parametrize(
    ("wish", "name", "code", "sentence"),
    [
        ({}, "needed", FieldCode.REQUIRED, "This is required."),
        ({"needed": "yes"}, "needed", FieldCode.TYPE, "This must be true / false."),
        ({"needed": True, "x": 1}, "x", FieldCode.UNKNOWN, "There is no such field."),
        ({"needed": True, "name": "x"}, "name", FieldCode.TOO_SHORT, "At least 2 characters."),
        ({"needed": True, "name": "xxxxx"}, "name", FieldCode.TOO_LONG, "At most 4 characters."),
        ({"needed": True, "name": 5}, "name", FieldCode.TYPE, "This must be text."),
        ({"needed": True, "count": 10}, "count", FieldCode.INVALID, "Not valid: ≤ 9."),
        ({"needed": True, "count": 1.5}, "count", FieldCode.TYPE, "This must be integer."),
        ({"needed": True, "inner": {}}, "inner", FieldCode.TYPE, "This must be [...]."),
        ({"needed": True, "inner": [{"level": "low"}, {"level": "x"}]}, "inner[1].level", FieldCode.NOT_ONE_OF, None),
        ({"needed": True, "word": "root"}, "word", FieldCode.RESERVED, "root is a reserved word."),
    ],
)
def test_each_finding_is_told_in_our_words(
    wish: dict[str, object], name: str, code: FieldCode, sentence: str | None
) -> None:
    """None of pydantic's own English reaches a person."""
    with pytest.raises(ValidationError) as found:
        Shape.model_validate_json(json.dumps(wish))
    [fault] = field_faults(found.value)
    assert (fault.name, fault.code) == (name, code)
    assert sentence is None or fault.say("en") == sentence
    assert fault.say("zh") != fault.say("en")


def test_a_callers_own_words_come_back_bounded_and_harmless() -> None:
    """The name of an unknown field is theirs: short, and without what a terminal or page would act on."""
    with pytest.raises(ValidationError) as found:
        Shape.model_validate_json(json.dumps({"needed": True, "<script>\x1b" + "x" * 500: 1}))
    [fault] = field_faults(found.value)
    assert len(fault.name) <= 100
    assert fault.name.startswith("?script??xxx")


def test_many_faults_are_told_up_to_a_bound() -> None:
    """A thousand unknown fields are not a thousand sentences."""
    with pytest.raises(ValidationError) as found:
        Shape.model_validate_json(json.dumps({str(number): 1 for number in range(1000)}))
    assert len(field_faults(found.value)) == 20


def test_headers_say_what_programs_need() -> None:
    """When to come back, what is allowed, how to sign in: never by a scheme that makes browsers pop up a window."""
    late = print_problem(Problem(Code.RATE_LIMITED, {"retry_after_s": 7}), "en")
    assert (late.status, late.headers["Retry-After"]) == (429, "7")
    method = print_problem(Problem(Code.METHOD, {"allowed": "GET, POST"}), "en")
    assert (method.status, method.headers["Allow"]) == (405, "GET, POST")
    nobody = print_problem(Problem(Code.SIGN_IN), "zh")
    assert nobody.headers["WWW-Authenticate"].startswith("Bearer")
    assert nobody.headers["Content-Language"] == "zh"
    assert nobody.content_type == "application/problem+json"


async def test_a_database_that_refuses_is_no_inner_error() -> None:
    """A full disk or a database that is away passes: the person is told to try again, and no more."""

    async def handler(_request: web.Request) -> web.StreamResponse:
        raise OperationalError("INSERT", None, sqlite3.OperationalError("database or disk is full"))

    app = web.Application(middlewares=[speak_problems])
    app.router.add_get("/", handler)
    async with TestClient(TestServer(app)) as client, client.get("/") as answer:
        assert (answer.status, (await answer.json(content_type=None))["code"]) == (503, "temporarily_unavailable")
        assert "disk" not in await answer.text()
