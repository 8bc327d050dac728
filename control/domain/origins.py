"""Origins of web pages (RFC 6454): what `cors_origins` of an entry may hold, in the one spelling browsers send."""

from __future__ import annotations

import re
from typing import Any, Final

ORIGINS_LIMIT: Final = 20
_ORIGIN: Final = re.compile(
    r"(https?)://((?=.{1,253}(?::|\Z))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?",
    re.ASCII,
)
_IMPLIED: Final = {"http": "80", "https": "443"}


def read_origins(plain: Any) -> tuple[tuple[str, ...], str | None]:
    """The origins in a list from outside, and what is wrong with it, if anything. None is an empty list."""
    if plain is None:
        return (), None
    if not isinstance(plain, list) or len(plain) > ORIGINS_LIMIT:
        return (), f"[https://host:port] x {ORIGINS_LIMIT}"
    origins = [_origin(item) for item in plain]
    if None in origins:
        return (), "https://host, https://host:port"
    return tuple(dict.fromkeys(origin for origin in origins if origin is not None)), None


def _origin(item: Any) -> str | None:
    """`https://host[:port]` as browsers write it: lower case, without the port that the scheme implies."""
    found = _ORIGIN.fullmatch(item.lower()) if isinstance(item, str) else None
    if found is None:
        return None
    scheme, host, port = found.groups()
    if port is not None and int(port) > 65535:
        return None
    return f"{scheme}://{host}" if port in (None, _IMPLIED[scheme]) else f"{scheme}://{host}:{port}"
