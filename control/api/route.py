"""One API call: where it stands, who may make it, and what its handler's own types say it takes and gives.

A handler is `async def submit(asked: Asked, body: JobSpec) -> Job`. A parameter `body` or `query` is
parsed into its annotation before the handler runs; every other parameter is a part of the path, text or
whole number. The return annotation is the answer: a shape, a list of shapes, `Answer[...]` when the
handler chooses status or headers, None for no content, or a `StreamResponse` that the handler sends
itself. The OpenAPI document is made from the same annotations, so that neither can say something else.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict

PREFIX: Final = "/api/v1"
T = TypeVar("T")


class Access(StrEnum):
    """Who may make a call at all. Whether they may do it to *this* job or entry, its action decides."""

    ANYONE = "anyone"
    PERSON = "person"
    ADMIN = "admin"


class Media(StrEnum):
    """What an answer is made of."""

    JSON = "application/json"
    BYTES = "application/octet-stream"
    WEBSOCKET = "websocket"


class Body(BaseModel):
    """A request body. Nothing is converted silently, nothing unknown is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Query(BaseModel):
    """A request's query: text converted to what the field says, nothing unknown ignored."""

    model_config = ConfigDict(extra="forbid")


class Shape(BaseModel):
    """An answer or a part of one."""

    model_config = ConfigDict(frozen=True)


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """An answer whose status or headers the handler chose."""

    body: T
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[..., Awaitable[Any]]
"""Any: the table holds handlers of every signature; `route` reads each one's own."""


@dataclass(frozen=True, slots=True)
class Route:
    """A call of the API, with what was read off its handler. `path` stands below PREFIX."""

    method: str
    path: str
    handler: Handler
    access: Access
    status: int
    media: Media
    body: type[Body] | None
    query: type[Query] | None
    parts: Mapping[str, type[str | int]]
    answer: Any  # a type form (a class, list[Shape]) has no static name in 3.11; None: no content, or sent by itself

    @property
    def name(self) -> str:
        """A name no other call has, for the OpenAPI document and for tests: `submit_job`."""
        return self.handler.__name__


def route(
    method: str,
    path: str,
    handler: Handler,
    *,
    access: Access = Access.PERSON,
    status: int = 200,
    media: Media = Media.JSON,
) -> Route:
    """The call that `handler` serves. Raises TypeError when its signature and the path do not fit together."""
    hints = typing.get_type_hints(handler)
    answer = _bare_answer(hints.pop("return"))
    names = list(inspect.signature(handler).parameters)[1:]
    body, query = hints.get("body"), hints.get("query")
    parts = {name: hints[name] for name in names if name not in ("body", "query")}
    if any("{" + name + "}" not in path for name in parts) or path.count("{") != len(parts):
        raise TypeError(f"{handler.__name__} takes {sorted(parts)}, but its path is {path}")
    return Route(method, path, handler, access, status, media, body, query, parts, answer)


def _bare_answer(hint: Any) -> Any:
    if typing.get_origin(hint) is Answer:
        return typing.get_args(hint)[0]
    is_sent = isinstance(hint, type) and issubclass(hint, web.StreamResponse)
    return None if is_sent or hint is type(None) else hint
