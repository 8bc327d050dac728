"""Whether a job can be submitted and every gateway serves: for load balancers, scripts and `make start`."""

from __future__ import annotations

from aiohttp import web

from control.actions import health
from control.api.asked import CONTEXT


async def show(request: web.Request) -> web.Response:
    """`GET /healthz`: 200, or 503 with what is missing."""
    missing = await health.missing(request.app[CONTEXT])
    body = {"ok": not missing, "missing": missing} if missing else {"ok": True}
    return web.json_response(body, status=503 if missing else 200, headers={"Cache-Control": "no-store"})
