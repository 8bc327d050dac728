"""A call on its way in: whom X-Forwarded-* may be believed from, and what the own origins are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from control.store import audit
from tests.control.api.desk import PASSWORD, Caller, Desk

FORWARDED = {
    "X-Forwarded-For": "203.0.113.7",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "console.example",
    "X-Forwarded-Port": "8443",
}


@pytest.fixture
async def gate(desk: Desk, tmp_path: Path) -> AsyncIterator[Caller]:
    """A caller as the gateway is one: on the Unix socket, saying who stands behind it."""
    runner = web.AppRunner(desk.server.app, access_log=None)
    await runner.setup()
    path = str(tmp_path / "control.sock")
    await web.UnixSite(runner, path).start()
    connector = aiohttp.UnixConnector(path)
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as http:
        yield Caller(http, "http://control", {"Accept-Language": "en"} | FORWARDED)
    await runner.cleanup()


async def addresses(desk: Desk) -> set[str]:
    """The addresses in the audit."""
    async with desk.db.read() as session:
        return {row.address for row in await audit.recent(session)}


async def test_the_gateway_is_believed(desk: Desk, gate: Caller) -> None:
    """The person's address, and that their side is TLS, come from the gateway."""
    await desk.add_user("alice")
    made = await gate.post("/sessions", {"username": "alice", "password": PASSWORD})
    assert made.status == 201
    assert made.raw.headers["Set-Cookie"].endswith("; Secure")
    assert await addresses(desk) == {"203.0.113.7"}


async def test_anyone_else_is_not(desk: Desk) -> None:
    """The same headers on a TCP connection are a browser's own words."""
    await desk.add_user("alice")
    made = await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD}, headers=FORWARDED)
    assert "Secure" not in made.raw.headers["Set-Cookie"]
    assert await addresses(desk) == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://console.example:8443", 200),
        ("http://127.0.0.1:8080", 200),  # where the settings say that the console is
        ("http://console.example:8443", 403),
        ("https://console.example", 403),
        ("https://evil.example:8443", 403),
    ],
)
async def test_the_page_may_stand_where_it_was_reached(desk: Desk, gate: Caller, origin: str, status: int) -> None:
    """By the name and port under which the gateway was asked, or by the console's own address."""
    await desk.add_user("alice")
    made = await gate.post("/sessions", {"username": "alice", "password": PASSWORD})
    page = {
        "Cookie": made.raw.headers["Set-Cookie"].partition(";")[0],
        "X-CSRF-Token": made.body["csrf"],
        "Origin": origin,
    }
    assert (await gate.get("/me", headers=page)).status == status
