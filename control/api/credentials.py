"""Who makes a call: a bearer token, or the console's cookie together with its page's own secret.

Cookies ignore ports, so an app on another port of the console's host receives the console's cookie, and a
page there makes the browser send it. Hence the cookie is not the bearer token, and is worth nothing without
the secret that only the console's own origin can read (X-CSRF-Token; on a WebSocket the subprotocol
`csrf.SECRET`). Where a browser names an Origin, it has to be the console's.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from control.actions import sessions
from control.actions.context import Person
from control.api.asked import CONTEXT, address_of, own_origins, scheme_of
from control.domain.errors import Code, problem

COOKIE: Final = "starlight_session"
CSRF_HEADER: Final = "X-CSRF-Token"
SOCKET_PROTOCOL: Final = "starlight"
_CSRF_PROTOCOL: Final = "csrf."
_COOKIES_TRIED: Final = 4
"""A sibling may toss cookies of the same name at the browser: each is tried, none is trusted for being first."""
_SECRET_CHARACTERS: Final = 200


async def identify(request: web.Request) -> Person | None:
    """The person behind the request's credentials; None when it carries none.

    Raises ProblemError: SIGN_IN for credentials that are not (or no longer) good, CSRF for a cookie without
    the page's secret, CROSS_ORIGIN for a page that is not the console, SCOPE for a token of an entry.
    """
    ctx, address = request.app[CONTEXT], address_of(request)
    authorization = request.headers.get("Authorization")
    if authorization is not None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token or len(token) > _SECRET_CHARACTERS:
            raise problem(Code.SIGN_IN)
        return await sessions.person_of_token(ctx, token.strip(), address)
    cookies = _cookies(request)
    if not cookies:
        return None
    csrf = _csrf(request)
    if csrf is None:
        raise problem(Code.CSRF)
    _refuse_foreign_page(request)
    return await sessions.person_of_cookie(ctx, cookies, csrf, address)


def remember(request: web.Request, cookie: str, max_age_s: int) -> str:
    """The Set-Cookie header that signs a browser in."""
    return _set_cookie(request, cookie, max_age_s)


def forget(request: web.Request) -> str:
    """The Set-Cookie header that signs a browser out."""
    return _set_cookie(request, "", 0)


def _set_cookie(request: web.Request, value: str, max_age_s: int) -> str:
    secure = "; Secure" if scheme_of(request) == "https" else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}"


def _cookies(request: web.Request) -> list[str]:
    pairs = "; ".join(request.headers.getall("Cookie", [])).split(";")
    found = [value.strip() for name, _, value in (pair.partition("=") for pair in pairs) if name.strip() == COOKIE]
    return [value for value in found if 0 < len(value) <= _SECRET_CHARACTERS][:_COOKIES_TRIED]


def _csrf(request: web.Request) -> str | None:
    secret = request.headers.get(CSRF_HEADER)
    for offer in request.headers.get("Sec-WebSocket-Protocol", "").split(","):
        if offer.strip().startswith(_CSRF_PROTOCOL):
            secret = offer.strip().removeprefix(_CSRF_PROTOCOL)
    return secret if secret and len(secret) <= _SECRET_CHARACTERS else None


def _refuse_foreign_page(request: web.Request) -> None:
    origin = request.headers.get("Origin")
    is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
    if origin is None and not is_socket:
        return  # a browser leaves it out on its own page's GET
    if origin is None or origin.lower() not in own_origins(request, request.app[CONTEXT].settings.console_url):
        raise problem(Code.CROSS_ORIGIN)
