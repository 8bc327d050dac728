"""The API and the console as one aiohttp application: the route table, and how a call goes through it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from aiohttp import web
from pydantic import TypeAdapter

from control.actions.context import Context
from control.api import (
    apps,
    clients,
    clusters,
    document,
    domains,
    entries,
    health,
    hops,
    host_keys,
    jobs,
    live,
    logs,
    me,
    metrics,
    sessions,
    shares,
    sockets,
    users,
    visits,
)
from control.api.asked import CONTEXT, Asked, asked_of, read_body, read_part, read_query
from control.api.console import serve_console
from control.api.credentials import identify
from control.api.problems import BODY_LIMIT_BYTES, speak_problems
from control.api.route import PREFIX, Access, Answer, Route
from control.domain.errors import Code, problem

ROUTES: Final[tuple[Route, ...]] = (
    *sessions.ROUTES,
    *me.ROUTES,
    *users.ROUTES,
    *clusters.ROUTES,
    *apps.ROUTES,
    *jobs.ROUTES,
    *logs.ROUTES,
    *entries.ROUTES,
    *clients.ROUTES,
    *domains.ROUTES,
    *shares.ROUTES,
    *visits.ROUTES,
    *hops.ROUTES,
    *live.ROUTES,
    *host_keys.ROUTES,
    *document.ROUTES,
)
"""Every call below /api/v1. The OpenAPI document and the authorisation test go through the same table."""

_NOT_THE_API: Final = "/{name:(?!api(?:/|$)).*}"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def make_api(ctx: Context, *, pages: Path) -> web.Application:
    """The application that control serves on its Unix socket. `pages` is the folder of the console's build."""
    app = web.Application(middlewares=[speak_problems], client_max_size=BODY_LIMIT_BYTES)
    app[CONTEXT] = ctx
    app[sockets.SOCKETS] = sockets.OpenSockets()
    app.on_shutdown.append(app[sockets.SOCKETS].close)
    app[document.DOCUMENT] = document.render(ROUTES)
    for route in ROUTES:
        app.router.add_route(route.method, PREFIX + route.path, _serve(route))
    app.on_response_prepare.append(_name_server)
    app.router.add_get("/healthz", health.show)
    app.router.add_get("/metrics", metrics.show)
    app.router.add_get(_NOT_THE_API, serve_console(pages))
    return app


async def _name_server(_request: web.Request, answer: web.StreamResponse) -> None:
    answer.headers["Server"] = "starlight"  # instead of the versions of what it is made of


def _serve(route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    printed = TypeAdapter(route.answer) if route.answer is not None else None

    async def serve(request: web.Request) -> web.StreamResponse:
        asked = await _admit(request, route)
        answer = await route.handler(asked, **await _arguments(request, route))
        return answer if isinstance(answer, web.StreamResponse) else _print(answer, route, printed)

    return serve


async def _admit(request: web.Request, route: Route) -> Asked:
    if route.access is Access.ANYONE:
        return asked_of(request, None)
    person = await identify(request)
    if person is None:
        raise problem(Code.SIGN_IN)
    if route.access is Access.ADMIN and not person.is_admin:
        raise problem(Code.ADMIN_ONLY)
    return asked_of(request, person)


async def _arguments(request: web.Request, route: Route) -> dict[str, Any]:
    arguments: dict[str, Any] = {name: read_part(request, name, kind) for name, kind in route.parts.items()}
    if route.query is not None:
        arguments["query"] = read_query(request, route.query)
    if route.body is not None:
        arguments["body"] = await read_body(request, route.body)
    return arguments


def _print(answer: Any, route: Route, printed: TypeAdapter[Any] | None) -> web.Response:
    chosen = answer if isinstance(answer, Answer) else Answer(answer)
    status = chosen.status or route.status
    headers = _HEADERS | dict(chosen.headers)
    if printed is None:
        return web.Response(status=status, headers=headers)
    body = printed.dump_json(chosen.body)
    return web.Response(status=status, body=body, headers=headers, content_type="application/json", charset="utf-8")
