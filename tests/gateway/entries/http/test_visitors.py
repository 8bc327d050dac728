"""Who comes, told to the app; pages of other sites; and room for everybody when one entry is flooded."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from contextlib import AsyncExitStack
from pathlib import Path

import jwt
import pytest

from gateway.contract.routes import Level
from gateway.entries.http import conversation
from gateway.wire import identity
from tests.gateway import world
from tests.gateway.entries.http.house import open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads, get
from tests.gateway.wire.test_identity import NEWEST, UNTIMED

PAGE = "https://app.example"
CALLED_BY = {"cors_origins": (PAGE,)}
PREFLIGHT = f"Origin: {PAGE}\nAccess-Control-Request-Method: PUT\nAccess-Control-Request-Headers: x-starlight-token\n"


def options(host: str, more: str) -> str:
    """An OPTIONS request."""
    return f"OPTIONS / HTTP/1.1\nHost: {host}\n{more}\n"


async def test_an_app_verifies_who_comes_with_the_published_keys(tmp_path: Path) -> None:
    """What the visitor claims under these names goes; the keys are there for anybody, also without signing in."""
    async with open_house(tmp_path, echo_heads, NEWEST) as house, visit(house) as peer:
        forged = f"Cookie: {house.ticket()}\nX-Starlight-Identity: forged\nX-Starlight-User: root\n"
        await peer.send(get(house, more=forged))
        _, _, body = await peer.response()
        lines = dict(line.split(": ", 1) for line in body.decode().split("\r\n")[1:] if ": " in line)
        assert lines["X-Starlight-User"] == "alice"
        assert body.count(b"X-Starlight-") == 2
        await peer.send(f"GET {conversation.JWKS.decode()} HTTP/1.1\nHost: {house.host}\n\n")
        status, head, keys = await peer.response()
        assert status == 200
        assert b"Access-Control-Allow-Origin: *\r\n" in head
        key = jwt.PyJWKSet.from_dict(json.loads(keys)).keys[0]
        host = house.entry.host
        claims = jwt.decode(lines["X-Starlight-Identity"], key, algorithms=["ES256"], audience=host, options=UNTIMED)
        assert (claims["name"], claims["aud"]) == ("alice", host)


async def test_a_connection_keeps_its_statement_for_a_while_and_then_gets_a_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request is signed by itself; none carries one that is too old."""
    monkeypatch.setattr("gateway.entries.http.SWEEP_S", 0.01)
    async with asyncio.timeout(20), open_house(tmp_path, echo_heads, NEWEST) as house, visit(house) as peer:
        cookie = f"Cookie: {house.ticket()}\n"

        async def said() -> bytes:
            await peer.send(get(house, more=cookie))
            return (await peer.response())[2].partition(b"X-Starlight-Identity: ")[2].partition(b"\r\n")[0]

        first = await said()
        assert first
        assert await said() == first
        monkeypatch.setattr(identity, "REUSE_S", 0)
        while await said() == first:
            await asyncio.sleep(0.02)


async def test_a_stranger_at_an_open_entry_has_no_name(tmp_path: Path) -> None:
    """And cannot give themselves one."""
    async with open_house(tmp_path, echo_heads, NEWEST, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more="X-Starlight-User: alice\n"))
        assert b"starlight" not in (await peer.response())[2].lower()


async def test_a_preflight_of_a_named_origin_passes_before_sign_in(tmp_path: Path) -> None:
    """It carries no credentials, so nobody could let it pass otherwise; the app does not see it."""
    async with open_house(tmp_path, echo_heads, entry=CALLED_BY) as house, visit(house) as peer:
        await peer.send(options(house.host, PREFLIGHT))
        head = await peer.head()
        assert head.startswith(b"HTTP/1.1 204 ")
        assert f"Access-Control-Allow-Origin: {PAGE}\r\n".encode() in head
        assert b"Access-Control-Allow-Methods: PUT\r\n" in head
        assert b"Access-Control-Allow-Headers: x-starlight-token\r\n" in head
        await peer.send(options(house.host, PREFLIGHT.replace(PAGE, "https://evil.example")))
        status, head, _ = await peer.response()
        assert status == 403
        assert b"Access-Control-" not in head
        assert house.calls == []


async def test_pages_of_a_named_origin_read_answers_and_refusals(tmp_path: Path) -> None:
    """One answer to the question, whatever the app says too; refusals tell why; others get none."""
    async with open_house(tmp_path, echo_heads, entry=CALLED_BY) as house, visit(house) as peer:
        named = f"Origin: {PAGE}\n"
        await peer.send(get(house, more=named))
        status, head, _ = await peer.response()
        assert status == 401
        assert head.count(f"Access-Control-Allow-Origin: {PAGE}\r\n".encode()) == 1
        await peer.send(get(house, more=named + f"Cookie: {house.ticket()}\n"))
        status, head, _ = await peer.response()
        assert status == 200
        assert head.count(f"Access-Control-Allow-Origin: {PAGE}\r\n".encode()) == 1
        posted = f"POST / HTTP/1.1\nHost: {house.host}\nContent-Length: 0\nCookie: {house.ticket()}\n"
        await peer.send(f"{posted}{named}\n")
        assert (await peer.response())[0] == 200
        await peer.send(f"{posted}Origin: https://evil.example\n\n")
        status, head, _ = await peer.response()
        assert status == 403
        assert b"Access-Control-" not in head
        await peer.send(get(house))
        assert b"Access-Control-" not in (await peer.response())[1]


async def test_a_flooded_entry_leaves_room_for_others(tmp_path: Path) -> None:
    """Its own next visitor is told that it is full; another entry's is let in; who leaves makes room."""
    other = dataclasses.replace(
        world.entry(18, level=Level.OPEN), host="other.proxy.localhost", target=world.entry(18).target
    )
    config = {"visits_limit": 30, "entry_visits_limit": 20}
    async with (
        open_house(tmp_path, echo_heads, other, level=Level.OPEN, config=config) as house,
        AsyncExitStack() as crowd,
    ):
        peers = [await crowd.enter_async_context(visit(house)) for _ in range(40)]
        statuses = []
        for peer in peers:
            await peer.send(get(house))
            status, head, _ = await peer.response()
            statuses.append(status)
        assert statuses == [200] * 20 + [503] * 20
        assert b"X-Starlight-Reason: gateway_busy\r\n" in head
        house.change(dataclasses.replace(other, port=house.entry.port))
        async with visit(house) as quiet:
            await quiet.send(f"GET / HTTP/1.1\nHost: other.proxy.localhost:{house.entry.port}\n\n")
            assert (await quiet.response())[0] == 200
        await peers[0].send(get(house))
        assert (await peers[0].response())[0] == 200
        assert house.gate.metrics.text().count('code="gateway_busy"') == 1


async def test_an_address_with_too_many_connections_gets_429(tmp_path: Path) -> None:
    """A browser sees a page; those that stand go on."""
    config = {"address_visits_limit": 3}
    async with (
        open_house(tmp_path, echo_heads, level=Level.OPEN, config=config) as house,
        AsyncExitStack() as crowd,
    ):
        peers = [await crowd.enter_async_context(visit(house)) for _ in range(4)]
        for peer in peers[:3]:
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
        await peers[3].send(get(house, more="Accept: text/html\nSec-Fetch-Mode: navigate\n"))
        status, head, body = await peers[3].response()
        assert status == 429
        assert b"X-Starlight-Reason: rate_limited\r\n" in head
        assert b"<html" in body
        await peers[0].send(get(house))
        assert (await peers[0].response())[0] == 200


async def test_a_cut_visit_ends_at_once(tmp_path: Path) -> None:
    """As its entry's owner said; the person may come again."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house:
        async with visit(house) as peer:
            await peer.send(get(house))
            await peer.response()
            (live,) = house.gate.visits.live()
            assert house.gate.visits.cut(live)
            assert await peer.rest() == b""
        assert not house.gate.visits.cut(live)
        async with visit(house) as peer:
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
