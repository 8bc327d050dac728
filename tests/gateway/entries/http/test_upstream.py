"""Ways to the other side: control on its Unix socket, apps that speak TLS, and what is not spoken."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.local_ca import issue, make_authority
from gateway.contract.routes import AppProtocol, Certificate, Level
from gateway.entries import tls
from gateway.entries.http import app_tls, upstream
from tests.gateway import world
from tests.gateway.entries.http.house import crlf, open_house, tidy, visit
from tests.gateway.entries.http.test_conversation import refused
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, echo_heads, get, reset

TODAY = datetime.now(UTC)  # noqa: TID251 - certificates of a real handshake


async def no_app(reader: Reader, writer: Writer) -> None:
    """An app that nobody should reach."""
    pytest.fail("the app was dialled")


async def test_the_console_is_controls(tmp_path: Path) -> None:
    """Any host on the console's port; its cookies pass both ways, forwarding is the gateway's word."""

    async def control(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: starlight_session=x; Path=/\r\nContent-Length: %d\r\n\r\n"
        writer.write(answer % len(head) + head)

    async with (
        await asyncio.start_unix_server(tidy(control), tmp_path / "control.sock"),
        open_house(tmp_path, no_app, console=True) as house,
        visit(house) as peer,
    ):
        for host in ("127.0.0.1", f"localhost:{house.port}", "console.example"):
            await peer.send(
                f"GET /api HTTP/1.1\nHost: {host}\nCookie: starlight_session=x\nX-Forwarded-For: 6.6.6.6\n"
                "X-Starlight-Role: admin\n\n"
            )
            status, head, body = await peer.response()
            assert status == 200
            assert b"Set-Cookie: starlight_session=x; Path=/\r\n" in head
            assert b"Cookie: starlight_session=x\r\n" in body
            assert b"X-Forwarded-For: 127.0.0.1\r\n" in body
            assert b"6.6.6.6" not in body
            assert b"X-Starlight" not in body


async def test_no_address_holds_all_connections_to_control(tmp_path: Path) -> None:
    """Who asks for too much at once is told so, and has its room again when what it asked for has ended."""
    release = asyncio.Event()

    async def control(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await release.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with (
        await asyncio.start_unix_server(tidy(control), tmp_path / "control.sock"),
        open_house(tmp_path, no_app, console=True, config={"address_visits_limit": 8}) as house,
        visit(house) as first,
        visit(house) as second,
        visit(house) as third,
    ):
        for peer in (first, second):
            await peer.send("GET /api HTTP/1.1\nHost: 127.0.0.1\nConnection: close\n\n")
        async with asyncio.timeout(5):
            while sum(house.gate.desk._open.values()) < 2:
                await asyncio.sleep(0.01)
        await third.send("GET /api HTTP/1.1\nHost: 127.0.0.1\n\n")
        assert (await third.response())[0] == 429
        release.set()
        for peer in (first, second):
            assert (await peer.response())[0] == 204
            await peer.rest()
        await third.send("GET /api HTTP/1.1\nHost: 127.0.0.1\n\n")
        assert (await third.response())[0] == 204


async def test_the_console_is_not_served_on_an_apps_host(tmp_path: Path) -> None:
    """There its pages would share cookies and storage with the app."""
    custom = world.entry(18, host="app.example", port=8888)
    async with open_house(tmp_path, no_app, custom, console=True) as house, visit(house) as peer:
        for host in (house.host, "app.example"):
            status, why, _ = await refused(peer, f"GET / HTTP/1.1\nHost: {host}\n\n")
            assert (status, why) == (421, "misdirected")


async def test_the_consoles_websocket_is_a_tunnel(tmp_path: Path) -> None:
    """As an app's is."""

    async def control(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(SWITCH) + b"hi")
        await reader.read()

    async with (
        await asyncio.start_unix_server(tidy(control), tmp_path / "control.sock"),
        open_house(tmp_path, no_app, console=True) as house,
        visit(house) as peer,
    ):
        await peer.send(f"GET /api/v1/live HTTP/1.1\nHost: 127.0.0.1\n{UPGRADE}\n")
        await peer.head()
        assert await peer.exactly(2) == b"hi"


async def test_a_restart_of_control_refuses_nobody(tmp_path: Path) -> None:
    """What waits while its socket is gone, or dies with the old process, is asked again of the new one."""
    asked = 0

    async def control(reader: Reader, writer: Writer) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        if asked == 1:
            reset(writer)
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async with open_house(tmp_path, no_app, console=True) as house, visit(house) as peer:
        await peer.send("GET / HTTP/1.1\nHost: 127.0.0.1\n\n")
        await asyncio.sleep(0.1)
        async with await asyncio.start_unix_server(tidy(control), tmp_path / "control.sock"):
            assert (await peer.response())[2] == b"ok"
        assert asked == 2


async def test_control_that_stays_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """503 after the deadline, whether it does not listen or does not answer; what may not be repeated is not."""
    monkeypatch.setattr(upstream, "CONTROL_S", 0.2)
    asked = 0

    async def silent(reader: Reader, writer: Writer) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        if asked == 1:
            await reader.read()
        reset(writer)

    post = "POST / HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 0\n\n"
    async with open_house(tmp_path, no_app, console=True) as house:
        async with visit(house) as peer:
            status, why, _ = await refused(peer, post)
            assert (status, why) == (503, "control_away")
        async with await asyncio.start_unix_server(tidy(silent), tmp_path / "control.sock"):
            for _ in range(2):
                async with visit(house) as peer:
                    status, why, _ = await refused(peer, post)
                    assert (status, why) == (503, "control_away")
        assert asked == 2


async def test_an_app_that_speaks_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody vouches for its certificate; one that cannot shake hands is the app's fault."""
    monkeypatch.setattr(app_tls, "TLS_S", 0.5)
    made = issue(make_authority(["app.example"], now=TODAY), ["app.example"], now=TODAY)
    context = tls.server_context(Certificate("c", ("app.example",), made.chain_pem, made.key_pem))
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        house.change(replace(house.entry, target=replace(house.entry.target, app_protocol=AppProtocol.HTTPS)))
        status, why, _ = await refused(peer, get(house))
        assert (status, why) == (502, "app_fault")
        server = await asyncio.start_server(tidy(echo_heads), "127.0.0.1", 0, ssl=context)
        async with server:
            house.app_address = server.sockets[0].getsockname()
            await peer.send(get(house))
            assert (await peer.response())[0] == 200


async def test_the_console_by_name_on_the_https_port(tmp_path: Path) -> None:
    """And only there: the plain port does not know it."""
    async with open_house(tmp_path, no_app) as house, visit(house) as peer:
        status, why, _ = await refused(peer, "GET / HTTP/1.1\nHost: console.localhost\n\n")
        assert (status, why) == (404, "unknown_host")
