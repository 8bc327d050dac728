"""The OpenAPI 3.1 document, made from the route table and the handlers' own types; checked by a golden file."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from control.api.problems import MEDIA_TYPE
from control.api.route import PREFIX, Access, Media, Route
from control.domain.errors import Code

Schema = dict[str, Any]  # Any: JSON
_REF: Final = "#/components/schemas/{model}"
_TITLE: Final = "Starlight Gateway"


def openapi_document(routes: Sequence[Route], *, version: str) -> Schema:
    """The whole document. The same routes give the same document, byte for byte."""
    shapes = _Shapes(routes)
    paths: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, shapes)
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {
            "schemas": shapes.components | {"Problem": _PROBLEM},
            "securitySchemes": _SECURITY,
        },
    }


def print_document(document: Schema) -> bytes:
    """The document as it is served and kept as a golden file."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()


def _operation(route: Route, shapes: _Shapes) -> Schema:
    summary, _, more = inspect.cleandoc(route.handler.__doc__ or "").partition("\n\n")
    operation: Schema = {
        "operationId": route.name,
        "summary": " ".join(summary.split()),
        "security": [] if route.access is Access.ANYONE else [{"bearer": []}, {"cookie": [], "csrf": []}],
        "responses": {str(route.status): _answer(route, shapes), "default": _REFUSAL},
    }
    if more:
        operation["description"] = more
    if route.access is Access.ADMIN:
        operation["x-admin"] = True
    parameters = [_part(name, kind) for name, kind in route.parts.items()] + _query(route, shapes)
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        content = {"application/json": {"schema": shapes.of(route.body, "validation")}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answer(route: Route, shapes: _Shapes) -> Schema:
    if route.media is Media.WEBSOCKET:
        return {"description": "The connection becomes a WebSocket."}
    if route.media is Media.BYTES:
        return {
            "description": "Bytes.",
            "content": {Media.BYTES.value: {"schema": {"type": "string", "format": "binary"}}},
        }
    if route.status == HTTPStatus.NO_CONTENT:
        return {"description": "Done; no content."}
    if route.answer is None:
        return {"description": "JSON.", "content": {Media.JSON.value: {"schema": {"type": "object"}}}}
    return {"description": "Done.", "content": {Media.JSON.value: {"schema": shapes.of(route.answer, "serialization")}}}


def _part(name: str, kind: type[str | int]) -> Schema:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "integer" if kind is int else "string"},
    }


def _query(route: Route, shapes: _Shapes) -> list[Schema]:
    if route.query is None:
        return []
    properties = shapes.inline(route.query)["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in properties.items()]


class _Shapes:
    """The schemas of every body and answer, gathered once so that each has one name in the components."""

    def __init__(self, routes: Iterable[Route]) -> None:
        wanted: dict[tuple[int, JsonSchemaMode], TypeAdapter[Any]] = {}
        for route in routes:
            if route.body is not None:
                wanted[id(route.body), "validation"] = TypeAdapter(route.body)
            if route.answer is not None:
                wanted[_key(route.answer), "serialization"] = TypeAdapter(route.answer)
        inputs = [(key, mode, adapter.core_schema) for (key, mode), adapter in wanted.items()]
        schemas, components = GenerateJsonSchema(ref_template=_REF).generate_definitions(inputs)
        self._schemas = schemas
        self.components: dict[str, Schema] = {str(name): schema for name, schema in sorted(components.items())}

    def of(self, shape: Any, mode: JsonSchemaMode) -> Schema:
        return self._schemas[_key(shape) if mode == "serialization" else id(shape), mode]

    def inline(self, shape: type[BaseModel]) -> Schema:
        return shape.model_json_schema()


def _key(answer: Any) -> int:
    return hash(answer)


_PROBLEM: Final[Schema] = {
    "title": "Problem",
    "description": "RFC 9457. `code` is stable; `title` and `detail` are in the caller's language.",
    "type": "object",
    "required": ["type", "code", "status", "title", "detail"],
    "properties": {
        "type": {"type": "string"},
        "code": {"type": "string", "enum": sorted(code.value for code in Code)},
        "status": {"type": "integer"},
        "title": {"type": "string"},
        "detail": {"type": "string"},
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        "retry_after_s": {"type": "integer"},
    },
}
_REFUSAL: Final[Schema] = {
    "description": "Refused.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_SECURITY: Final[Schema] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A session token or an API token."},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "starlight_session"},
    "csrf": {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "Without it the cookie is nothing.",
    },
}
