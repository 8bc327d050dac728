"""Which of the two languages a caller reads: what they ask for, else Chinese."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from control.domain.errors import Language

DEFAULT: Final[Language] = "zh"
_KNOWN: Final[dict[str, Language]] = {"zh": "zh", "en": "en"}
_MOST_WISHES: Final = 10


def language_of(request: web.Request) -> Language:
    """The query's `language` (a WebSocket cannot set headers), then Accept-Language, then Chinese."""
    asked = request.query.get("language", "")
    if asked in _KNOWN:
        return _KNOWN[asked]
    return choose(request.headers.get("Accept-Language", ""))


def choose(header: str) -> Language:
    """The better liked of zh and en in an Accept-Language header (RFC 9110 section 12.5.4); DEFAULT when neither is."""
    best: Language = DEFAULT
    best_weight = 0.0
    for wish in header.split(",")[:_MOST_WISHES]:
        tag, _, parameter = wish.partition(";")
        primary = tag.strip().lower().split("-", maxsplit=1)[0]
        weight = _weight(parameter)
        if weight > best_weight and primary in _KNOWN:
            best, best_weight = _KNOWN[primary], weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        weight = float(value)
    except ValueError:
        return 0.0
    return weight if 0.0 < weight <= 1.0 else 0.0
