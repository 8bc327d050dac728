"""Pages of other sites that may call an entry, by its owner's choice (Fetch standard, CORS protocol). Pure.

A preflight carries no credentials, so an entry that wants to know its visitors could never let one pass:
where the owner named origins, the gateway answers it. Its answers name one origin, never all, because they
allow credentials; and they are on refusals too, so that the page can read why.
"""

from __future__ import annotations

from typing import Final

from gateway.contract.routes import Entry
from gateway.core.http1 import RequestHead

MAX_AGE_S: Final = 600
REPLACED: Final = frozenset({b"access-control-allow-origin", b"access-control-allow-credentials"})
"""What the app says of these is not passed on: two answers would count as none."""


def named_origin(head: RequestHead, entry: Entry) -> str | None:
    """The origin that the request comes from, when the entry's owner named it."""
    origin = (head.value(b"origin") or b"").decode("latin-1").lower()
    return origin if origin in entry.cors_origins else None


def is_preflight(head: RequestHead) -> bool:
    """Whether a browser asks if it may make another request."""
    return (
        head.method == b"OPTIONS"
        and head.value(b"origin") is not None
        and head.value(b"access-control-request-method") is not None
    )


def answer_lines(origin: str) -> list[tuple[str, str]]:
    """What every answer to a page of a named origin says."""
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Credentials", "true"),
        ("Vary", "Origin"),
    ]


def preflight_lines(head: RequestHead, origin: str) -> list[tuple[str, str]]:
    """What the answer to a preflight of a named origin says: methods and headers are for the app to judge."""
    asked = (
        ("Access-Control-Allow-Methods", head.value(b"access-control-request-method")),
        ("Access-Control-Allow-Headers", head.value(b"access-control-request-headers")),
    )
    told = [(name, value.decode("latin-1")) for name, value in asked if value]
    return [*answer_lines(origin), *told, ("Access-Control-Max-Age", str(MAX_AGE_S))]


def raw(lines: list[tuple[str, str]]) -> bytes:
    """The lines as they are sent."""
    return "".join(f"{name}: {value}\r\n" for name, value in lines).encode("latin-1")
