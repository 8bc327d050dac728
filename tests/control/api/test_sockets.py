"""WebSockets that only speak: slow readers, failures, and a reader that leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from control.api import sockets
from control.api.asked import Asked
from control.api.sockets import Channel, OpenSockets, SlowReaderError, serve_socket
from control.domain.errors import Code, problem

Speak = Callable[[Channel], Awaitable[None]]
Client = TestClient[web.Request, web.Application]


@pytest.fixture
async def serve(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[Speak], Awaitable[Client]]]:
    """Makes a client of a server whose only socket runs the given speaker."""
    clients: list[Client] = []

    async def start(speak: Speak) -> Client:
        async def handler(request: web.Request) -> web.StreamResponse:
            # Only the request of Asked is looked at here; the rest has no part in it.
            return await serve_socket(Asked(request, None, "en", "", None), speak)  # type: ignore[arg-type]

        app = web.Application()
        app[sockets.SOCKETS] = OpenSockets()
        app.router.add_get("/", handler)
        client: Client = TestClient(TestServer(app))
        await client.start_server()
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.close()


async def closed(client: Client) -> int | None:
    """The code with which the socket closes."""
    async with client.ws_connect("/") as ws:
        while (await ws.receive(timeout=5)).type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            pass
        return ws.close_code


async def test_a_speaker_that_is_done_closes(serve: Callable[[Speak], Awaitable[Client]]) -> None:
    """Plainly."""

    async def speak(channel: Channel) -> None:
        await channel.say("all")

    assert await closed(await serve(speak)) == 1000


async def test_a_refusal_closes_with_its_code(serve: Callable[[Speak], Awaitable[Client]]) -> None:
    """The job vanished while its log was followed."""

    async def speak(channel: Channel) -> None:
        raise problem(Code.NOT_FOUND, what="x")

    assert await closed(await serve(speak)) == sockets.REFUSED


async def test_a_failure_of_ours_is_logged_and_closes(
    serve: Callable[[Speak], Awaitable[Client]], caplog: pytest.LogCaptureFixture
) -> None:
    """1011, and the stack in the log alone."""

    async def speak(channel: Channel) -> None:
        raise KeyError("inner")

    assert await closed(await serve(speak)) == 1011
    assert "a socket failed" in caplog.text


async def test_a_slow_reader_is_sent_away(serve: Callable[[Speak], Awaitable[Client]]) -> None:
    """1013: it comes back and asks from where it stopped."""

    async def speak(channel: Channel) -> None:
        raise SlowReaderError

    assert await closed(await serve(speak)) == 1013


async def test_a_send_has_a_deadline(
    serve: Callable[[Speak], Awaitable[Client]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that takes nothing is told from one that takes its time."""
    monkeypatch.setattr(sockets, "_SEND_S", 0.05)
    told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def speak(channel: Channel) -> None:
        try:
            while True:
                await channel.pour(b"x" * 1_000_000)
        except SlowReaderError:
            told.set_result(True)
            raise

    client = await serve(speak)
    async with client.ws_connect("/", max_msg_size=0):
        async with asyncio.timeout(10):
            assert await told


async def test_a_reader_that_leaves_ends_the_speakers_pause(serve: Callable[[Speak], Awaitable[Client]]) -> None:
    """At once, without cancelling what the speaker is in the middle of."""
    left: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    woken: list[bool] = []

    async def speak(channel: Channel) -> None:
        channel.when_left(lambda: woken.append(True))
        await channel.say("here")
        await channel.pause(60)
        left.set_result(channel.has_left)

    client = await serve(speak)
    async with client.ws_connect("/") as ws:
        await ws.receive_str(timeout=5)
    async with asyncio.timeout(5):
        assert await left
    assert woken == [True]
