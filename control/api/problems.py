"""Every refusal as `application/problem+json`, in the caller's language; nothing inner in any of them.

The outermost middleware. What an action refuses arrives as ProblemError, what aiohttp refuses as
HTTPException, what pydantic refuses as ValidationError. Anything else is ours to mend: the person gets
an incident number, the log gets the stack.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web
from pydantic import ValidationError
from sqlalchemy.exc import OperationalError

from control.api.language import language_of
from control.domain.errors import Code, FieldCode, FieldFault, Language, Problem, ProblemError

log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
BODY_LIMIT_BYTES: Final = 1024 * 1024
_FIELDS_SHOWN: Final = 20
_NAME_CHARACTERS: Final = 100

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def speak_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns whatever a handler raises into an answer. An answer that has begun can only be cut off."""
    try:
        return await handler(request)
    except ProblemError as refusal:
        return print_problem(refusal.problem, language_of(request))
    except ValidationError as faults:
        if faults.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return print_problem(Problem(Code.MALFORMED, {"why": "not JSON"}), language_of(request))
        return print_problem(Problem(Code.INVALID_INPUT, {}, field_faults(faults)), language_of(request))
    except web.HTTPException as plain:
        if plain.status < 400:
            raise
        return print_problem(_from_http(plain), language_of(request))
    except (ConnectionResetError, TimeoutError):
        # The person went away, or the store or a bridge did not answer in time.
        return print_problem(Problem(Code.UNAVAILABLE), language_of(request))
    except OperationalError as fault:  # the database is away, or its disk is full: for the log alone to say
        log.warning("the database refused %s %s: %s", request.method, request.path, fault.orig)
        return print_problem(Problem(Code.UNAVAILABLE), language_of(request))
    except Exception:
        incident = secrets.token_hex(4)
        log.exception("incident %s: %s %s", incident, request.method, request.path)
        return print_problem(Problem(Code.INTERNAL, {"incident": incident}), language_of(request))


def print_problem(problem: Problem, language: Language) -> web.Response:
    """The answer for `problem` (RFC 9457)."""
    headers = {"Cache-Control": "no-store", "Content-Language": language}
    if problem.code is Code.SIGN_IN:
        headers["WWW-Authenticate"] = 'Bearer realm="starlight"'
    if "retry_after_s" in problem.params:
        headers["Retry-After"] = str(problem.params["retry_after_s"])
    if problem.code is Code.METHOD:
        headers["Allow"] = str(problem.params["allowed"])
    text = json.dumps(problem.render(language), ensure_ascii=False)
    return web.Response(text=text, status=problem.status, content_type=MEDIA_TYPE, headers=headers)


def field_faults(error: ValidationError) -> tuple[FieldFault, ...]:
    """Pydantic's findings as field faults: the first of each field, at most twenty."""
    faults: dict[str, FieldFault] = {}
    for found in error.errors(include_url=False, include_input=False):
        name = _path(found["loc"])
        code, params = _field_code(found["type"], found.get("ctx", {}))
        faults.setdefault(name, FieldFault(name, code, params))
        if len(faults) == _FIELDS_SHOWN:
            break
    return tuple(faults.values())


def _from_http(plain: web.HTTPException) -> Problem:
    match plain:
        case web.HTTPMethodNotAllowed():
            return Problem(Code.METHOD, {"allowed": ", ".join(sorted(plain.allowed_methods))})
        case web.HTTPNotFound():
            return Problem(Code.ROUTE_NOT_FOUND)
        case web.HTTPRequestEntityTooLarge():
            return Problem(Code.TOO_LARGE, {"limit_bytes": BODY_LIMIT_BYTES})
        case web.HTTPServerError():
            return Problem(Code.UNAVAILABLE)
        case _:
            return Problem(Code.MALFORMED, {"why": plain.reason.lower()})


_KINDS: Final[dict[str, tuple[FieldCode, dict[str, str]]]] = {
    "missing": (FieldCode.REQUIRED, {}),
    "extra_forbidden": (FieldCode.UNKNOWN, {}),
    "string_too_short": (FieldCode.TOO_SHORT, {"minimum": "min_length"}),
    "string_too_long": (FieldCode.TOO_LONG, {"maximum": "max_length"}),
    "too_short": (FieldCode.TOO_SHORT, {"minimum": "min_length"}),
    "too_long": (FieldCode.TOO_LONG, {"maximum": "max_length"}),
    "literal_error": (FieldCode.NOT_ONE_OF, {"allowed": "expected"}),
    "enum": (FieldCode.NOT_ONE_OF, {"allowed": "expected"}),
}
_WANTED: Final = {
    "string": "text",
    "int": "integer",
    "float": "number",
    "bool": "true / false",
    "list": "[...]",
    "tuple": "[...]",
    "dict": "{...}",
    "model": "{...}",
    "datetime": "RFC 3339",
    "timezone": "RFC 3339 +00:00",
}


def _field_code(kind: str, context: dict[str, Any]) -> tuple[FieldCode, dict[str, Any]]:
    if kind in _KINDS:
        code, names = _KINDS[kind]
        return code, {name: context.get(theirs, "…") for name, theirs in names.items()}
    if kind in ("greater_than", "greater_than_equal", "less_than", "less_than_equal"):
        return FieldCode.INVALID, {"why": _bound(context)}
    if kind == "value_error" and isinstance(context.get("error"), FieldError):
        return context["error"].code, context["error"].params
    wanted = _WANTED.get(kind.split("_", maxsplit=1)[0], "")
    return (FieldCode.TYPE, {"wanted": wanted}) if wanted else (FieldCode.INVALID, {"why": kind})


def _bound(context: dict[str, Any]) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(f"{signs[name]} {limit}" for name, limit in context.items() if name in signs)


class FieldError(ValueError):
    """Raised by a shape's own validators: which FieldCode, with which parameters."""

    def __init__(self, code: FieldCode, **params: Any) -> None:
        super().__init__(code.value)
        self.code = code
        self.params = params


def _path(loc: tuple[int | str, ...]) -> str:
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{_printable(part)}" if path else _printable(part)
    return path[:_NAME_CHARACTERS] or "body"


def _printable(name: str) -> str:
    # A field's name may be the caller's own text (an unknown field): it comes back bounded and harmless.
    return re.sub(r"[^\w\-+|]", "?", name[:_NAME_CHARACTERS])
