"""`GET /metrics`: the platform's counts for Prometheus, to administrators and to a scraper on this machine.

The scraper sends the token that lies in `<data>/control/metrics-token`; it opens nothing else, and counts
from loopback only. Cookies are not looked at: this is no page.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address

from aiohttp import web

from control.api.asked import CONTEXT, address_of
from control.api.credentials import identify
from control.domain.errors import Code, problem

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


async def show(request: web.Request) -> web.Response:
    """The counts of all processes. Raises ProblemError SIGN_IN or ADMIN_ONLY."""
    await _check(request)
    text = request.app[CONTEXT].metrics.text()
    headers = {"Content-Type": MEDIA_TYPE, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return web.Response(body=text.encode(), headers=headers)


async def _check(request: web.Request) -> None:
    authorization = request.headers.get("Authorization", "")
    if not authorization:
        raise problem(Code.SIGN_IN)
    wanted = f"Bearer {request.app[CONTEXT].metrics.token}"
    if hmac.compare_digest(authorization.encode(), wanted.encode()) and _is_near(address_of(request)):
        return
    person = await identify(request)
    if person is None or not person.is_admin:
        raise problem(Code.ADMIN_ONLY)


def _is_near(address: str) -> bool:
    try:
        return address == "unix" or ip_address(address).is_loopback
    except ValueError:
        return False
