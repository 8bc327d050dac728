"""One call on its way in: who asks, from where, in which language, and the body and query as typed shapes.

Bodies are JSON in UTF-8, at most BODY_LIMIT_BYTES, and have to arrive in time. X-Forwarded-* is believed
on the Unix socket only: there it was written by the gateway, which replaces whatever a browser sent.
"""

from __future__ import annotations

import asyncio
import re
import socket
import typing
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlsplit

from aiohttp import web

from control.actions.context import Context, Person
from control.api.language import language_of
from control.api.problems import BODY_LIMIT_BYTES
from control.api.route import Body, Query
from control.domain.errors import Code, Language, problem

B = TypeVar("B", bound=Body)
Q = TypeVar("Q", bound=Query)

BODY_DEADLINE_S: Final = 20.0
_MOST_DIGITS: Final = 18
_PART_CHARACTERS: Final = 200
_HAS_PORT: Final = re.compile(r":\d+\Z")
CONTEXT: Final = web.AppKey("context", Context)


@dataclass(frozen=True, slots=True)
class Asked:
    """What every handler is given. `who` is set for every call that is not open to anyone."""

    request: web.Request
    ctx: Context
    language: Language
    address: str
    person: Person | None

    @property
    def who(self) -> Person:
        """The person who asks. Raises ProblemError(SIGN_IN) when nobody signed in."""
        if self.person is None:
            raise problem(Code.SIGN_IN)
        return self.person


def asked_of(request: web.Request, person: Person | None) -> Asked:
    """The call of a request whose credentials were looked at."""
    return Asked(request, request.app[CONTEXT], language_of(request), address_of(request), person)


async def read_body(request: web.Request, shape: type[B]) -> B:
    """The request's JSON body. Raises ProblemError for size, encoding and time, ValidationError for its content."""
    if request.content_type != "application/json":
        raise problem(Code.MEDIA_TYPE, wanted="application/json")
    if request.headers.get("Content-Encoding", "identity") != "identity":
        raise problem(Code.MEDIA_TYPE, wanted="application/json (identity)")
    return shape.model_validate_json(_decoded(await _bounded(request)))


def read_query(request: web.Request, shape: type[Q]) -> Q:
    """The request's query. An empty value counts as none; a repeated one is a list where the shape has one."""
    given: dict[str, str | list[str]] = {}
    for name in request.query:
        values = [value for value in request.query.getall(name) if value]
        if values:
            given[name] = values if _holds_many(shape, name) else values[-1]
    return shape.model_validate(given)


def read_part(request: web.Request, name: str, kind: type[str | int]) -> str | int:
    """A part of the path. A number that is none, or text that no database could hold, names nothing."""
    text = request.match_info[name]
    if len(text) > _PART_CHARACTERS or not text.isprintable():
        raise problem(Code.NOT_FOUND, what="…")
    if kind is str:
        return text
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise problem(Code.NOT_FOUND, what=text)
    return int(text)


def address_of(request: web.Request) -> str:
    """The address of the person's machine, for rate limits and the audit."""
    if _behind_gateway(request):
        return request.headers.get("X-Forwarded-For", "").split(",")[-1].strip() or "unix"
    return request.remote or "unknown"


def scheme_of(request: web.Request) -> str:
    """`https` when the person's side of the gateway is TLS."""
    if _behind_gateway(request) and request.headers.get("X-Forwarded-Proto") == "https":
        return "https"
    return "http"


def own_origins(request: web.Request, console_url: str) -> frozenset[str]:
    """The origins that are the console itself: where it is said to be, and where this request reached it."""
    return frozenset({_origin(console_url), _origin(f"{scheme_of(request)}://{_host_of(request)}")})


def _host_of(request: web.Request) -> str:
    if not _behind_gateway(request):
        return request.host
    host = request.headers.get("X-Forwarded-Host", request.host)
    port = request.headers.get("X-Forwarded-Port", "")
    return host if not port or _HAS_PORT.search(host) else f"{host}:{port}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    default = ":443" if parts.scheme == "https" else ":80"
    return f"{parts.scheme}://{parts.netloc}".lower().removesuffix(default)


async def _bounded(request: web.Request) -> bytes:
    if (request.content_length or 0) > BODY_LIMIT_BYTES:
        raise problem(Code.TOO_LARGE, limit_bytes=BODY_LIMIT_BYTES)
    try:
        async with asyncio.timeout(BODY_DEADLINE_S):
            return await request.read()
    except TimeoutError:
        raise problem(Code.MALFORMED, why="the body did not arrive in time") from None


def _decoded(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise problem(Code.MALFORMED, why="not UTF-8") from None


def _holds_many(shape: type[Query], name: str) -> bool:
    known = shape.model_fields.get(name)
    return known is not None and typing.get_origin(known.annotation) in (list, tuple)


def _behind_gateway(request: web.Request) -> bool:
    sock = request.get_extra_info("socket")
    return sock is not None and sock.family == socket.AF_UNIX
