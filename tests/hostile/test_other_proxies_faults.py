"""Public faults of other proxies that no test beside the code covers; each test is named after the right behaviour."""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gateway.contract.routes import Level
from gateway.core.refusals import Code, Refusal
from gateway.entries import http
from gateway.entries.http.upstream import QUIET_S
from gateway.entries.pages import callback_page, refusal_page
from tests.gateway.entries.http.house import House, open_house, visit

STREAMS = 150
SWEEP_S = 0.05


def asks(house: House, path: str = "/", more: str = "") -> str:
    """Alice's GET."""
    return f"GET {path} HTTP/1.1\nHost: {house.host}\nX-Starlight-Token: sl_alice\n{more}\n"


async def echo_heads(reader: Reader, writer: Writer) -> None:
    """An app that answers each request with its head."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)


async def test_an_app_that_hangs_up_on_an_upgrade_is_a_502(tmp_path: Path) -> None:
    """B04: the person's socket does not stay open for an answer that never comes."""

    async def hangs_up(reader: Reader, _: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")

    async with open_house(tmp_path, hangs_up) as house, visit(house) as peer:
        await peer.send(asks(house, "/", "Connection: Upgrade\nUpgrade: websocket\n"))
        assert (await peer.response())[0] == 502


@pytest.mark.parametrize("chosen", ["Sec-WebSocket-Protocol: b\r\n", ""])
async def test_subprotocols_and_extensions_are_the_two_ends_own(tmp_path: Path, chosen: str) -> None:
    """B10, B11, B14: offers reach the app in their own spelling, and its choice, or none, the browser."""
    offers = b"sec-webSocket-protocol: a, b\r\nSec-Websocket-Extensions: permessage-deflate\r\n"
    heads: list[bytes] = []

    async def switches(reader: Reader, writer: Writer) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        switch = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{chosen}\r\n"
        writer.write(switch.encode())
        await reader.read()

    async with open_house(tmp_path, switches) as house, visit(house) as peer:
        more = "Connection: keep-alive, upgrade\nUpgrade: websocket\n" + offers.decode().replace("\r\n", "\n")
        await peer.send(asks(house, "/", more))
        answered = await peer.head()
        assert offers in heads[0]
        assert chosen.encode() in answered
        assert answered.lower().count(b"sec-websocket-") == (1 if chosen else 0)


@pytest.mark.parametrize(
    "target",
    [
        *("/a%2Fb", "/%41", "/a%27", "/a//b/../c", "/%E4%B8%AD%E6%96%87.ipynb", "/a%25b", "/a;b", "/a%zz", "/%E0%A4%A"),
        "/?a=1;b=2&c=%2B+%20&&=",
    ],
)
async def test_targets_arrive_byte_for_byte_by_both_ways(tmp_path: Path, target: str) -> None:
    """B49, B50: paths and queries are nobody's to decode, the first request's as little as the next one's."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        for _ in range(2):
            await peer.send(asks(house, target))
            assert (await peer.response())[2].startswith(b"GET " + target.encode() + b" HTTP/1.1\r\n")


async def test_the_apps_own_authorization_is_not_ours(tmp_path: Path) -> None:
    """B67: a bearer of the app's neither admits nor disturbs, and arrives unchanged."""
    line = b"\r\nAuthorization: Bearer  x=\r\n"
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(asks(house, "/", "Authorization: Bearer  x=\n"))
        assert line in (await peer.response())[2]
        await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\nAuthorization: Bearer sl_alice\n\n")
        assert (await peer.response())[0] == 401


async def test_names_that_cgi_apps_read_as_ours_are_dropped(tmp_path: Path) -> None:
    """B42, B70: `X_Forwarded_User` would reach a WSGI app as the gateway's own word."""
    claims = "X_Forwarded_User: root\nX-Forwarded-Uri: /x\nX_Starlight_User: root\nForwarded: for=1.2.3.4\n"
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\n{claims}\n")
        seen = (await peer.response())[2].lower()
        assert not any(word in seen for word in (b"root", b"uri", b"1.2.3.4"))


async def test_many_streams_of_events_live_side_by_side(tmp_path: Path) -> None:
    """B48: no pool of connections makes the hundred-and-first wait."""

    async def events(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await reader.read()

    async with open_house(tmp_path, events) as house, AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(visit(house)) for _ in range(STREAMS)]
        for peer in peers:
            await peer.send(asks(house))
        for peer in peers:
            await peer.head()
            assert await peer.exactly(9) == b"data: 1\n\n"
        assert len(house.gate.visits) == STREAMS


async def test_a_request_without_a_host_is_refused_without_a_look_up(tmp_path: Path) -> None:
    """B65: HTTP/1.0 without Host is 400 at once."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        async with asyncio.timeout(1):
            await peer.send("GET / HTTP/1.0\n\n")
            assert (await peer.response())[0] == 400


async def test_an_app_may_think_for_most_of_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B63: the clock leaps while the app thinks; no other timer gives up on its answer, and that one does."""
    loop, ahead = asyncio.get_running_loop(), 0.0
    real = loop.time
    monkeypatch.setattr(loop, "time", lambda: real() + ahead)
    monkeypatch.setattr(http, "SWEEP_S", SWEEP_S)
    asked, think = asyncio.Event(), asyncio.Event()

    async def thinks(reader: Reader, writer: Writer) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            asked.set()
            await think.wait()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with open_house(tmp_path, thinks) as house, visit(house) as peer:
        await peer.send(asks(house))
        await asked.wait()
        ahead += QUIET_S - 60
        await asyncio.sleep(2 * SWEEP_S)  # each connection was looked at
        think.set()
        assert (await peer.response())[2] == b"ok"
        think.clear()
        asked.clear()
        await peer.send(asks(house, "/again"))
        await asked.wait()
        ahead += QUIET_S + 60
        status, head, _ = await peer.response()
        assert (status, b"X-Starlight-Reason: timeout\r\n" in head) == (504, True)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_our_pages_leave_nothing_in_an_apps_origin(language: str) -> None:
    """B72: a service worker or stored word of ours would outlive the page, in what is the app's own place."""
    pages = [callback_page(language, "nonce"), *(refusal_page(Refusal(code), language, "http://c") for code in Code)]
    for page in pages:
        for word in ("serviceWorker", "Storage", "indexedDB", "caches", "document.cookie"):
            assert word not in page.html


async def test_links_carry_the_port_people_came_by(tmp_path: Path) -> None:
    """B73: without it a link leads to another server, or to none."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(f"GET /deep HTTP/1.1\nHost: {house.host}\n\n")
        status, _, body = await peer.response()
        assert status == 401
        assert json.loads(body)["login_url"] == f"http://{house.entry.host}:{house.port}/"
