"""The API from the outside: every failure is one sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from control.cli.client import FailedError, connect
from control.cli.login import Login
from control.cli.words import Words
from tests.control.api.desk import Desk

SAY = Words("en")


@pytest.fixture
async def stranger() -> AsyncIterator[str]:
    """The address of a server that is no Starlight."""

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("/moved"):
            raise web.HTTPFound("http://elsewhere.example/")
        return web.Response(text="<h1>hello</h1>", content_type="text/html", status=int(request.query.get("s", "200")))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


@pytest.mark.parametrize("path", ["/me", "/me?s=404", "/me?s=500", "/moved"])
async def test_a_server_that_is_no_starlight_is_called_so(stranger: str, path: str) -> None:
    """And no token is ever sent on to where it redirects."""
    async with connect(Login(stranger, "sl_x"), SAY) as client:
        with pytest.raises(FailedError, match="does not answer like Starlight") as failure:
            await client.call("GET", path)
    assert failure.value.problem["code"] == "not_starlight"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no.such.host.invalid", "nonsense", "http://"])
async def test_an_address_that_leads_nowhere_is_told(url: str) -> None:
    """With the reason."""
    async with connect(Login(url, "sl_x"), SAY) as client:
        with pytest.raises(FailedError, match="cannot be reached") as failure:
            await client.call("GET", "/me")
        assert failure.value.problem["code"] == "unreachable"
        with pytest.raises(FailedError):
            [message async for message in client.listen("/jobs/x/logs/stream", {})]


async def test_a_problem_comes_through_as_it_is(desk: Desk) -> None:
    """Its code for programs, its sentence for people; over a WebSocket too."""
    async with connect(Login(desk.base, "sl_wrong"), SAY) as client:
        for path in ("/me", "/jobs/x"):
            with pytest.raises(FailedError) as failure:
                await client.call("GET", path)
            assert failure.value.problem["code"] == "sign_in_required"
        with pytest.raises(FailedError) as failure:
            [message async for message in client.listen("/jobs/x/logs/stream", {"from": 0})]
        assert failure.value.problem["code"] == "sign_in_required"
