"""How a conversation ends when others say so: a right is withdrawn, the gateway drains."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

from gateway.contract.routes import Level
from gateway.core.refusals import Code, Refusal
from gateway.core.websocket import close_frame
from tests.gateway import world
from tests.gateway.entries.http.house import crlf, open_house, visit
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, cut_after, get


async def test_withdrawal_cuts_what_rests_on_it_and_nothing_else(tmp_path: Path) -> None:
    """A tunnel, an answer on its way, and a resting connection; Alice's own goes on (B05)."""
    came = asyncio.Queue[bytes]()

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/tunnel" in head:
            writer.write(crlf(SWITCH))
            while data := await reader.read(100):
                came.put_nowait(data)
        elif b"/long" in head:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
            await reader.read()
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await reader.read()

    grant = world.grant()
    async with (
        open_house(tmp_path, app, grant) as house,
        visit(house) as owner,
        visit(house) as tunnel,
        visit(house) as long,
        visit(house) as resting,
        visit(house) as waiting,
    ):
        bob = f"Cookie: {house.ticket('s2', 2)}\n"
        await owner.send(get(house, "/tunnel", f"Cookie: {house.ticket()}\n" + UPGRADE))
        await tunnel.send(get(house, "/tunnel", bob + UPGRADE))
        await long.send(get(house, "/long", bob))
        await resting.send(get(house, "/", bob))
        await waiting.send(f"POST / HTTP/1.1\nHost: {house.host}\n{bob}Content-Length: 1\n\n")
        for peer in (owner, tunnel, long, resting, waiting):
            await peer.head()
        assert await long.exactly(5) == b"first"
        house.remove(grant)
        async with asyncio.timeout(1):
            assert await tunnel.rest() == close_frame(Refusal(Code.WITHDRAWN))
            await cut_after(long)
            assert await resting.rest() == b""
        await owner.send(b"still")
        assert await came.get() == b"still"


async def test_who_is_cut_before_an_answer_is_told(tmp_path: Path) -> None:
    """403 with the reason, as nothing was sent yet."""
    asked = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()

    async with open_house(tmp_path, app, world.grant()) as house, visit(house) as peer:
        await peer.send(get(house, more=f"Cookie: {house.ticket('s2', 2)}\n"))
        await asked.wait()
        house.remove(world.grant())
        status, head, _ = await peer.response()
        assert status == 403
        assert b"X-Starlight-Reason: withdrawn\r\n" in head
        assert await peer.rest() == b""


async def test_a_draining_gateway_finishes_what_runs(tmp_path: Path) -> None:
    """The answer on its way is completed and says close; a resting connection ends; a tunnel is cut at the deadline."""
    go = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/slow" in head:
            await go.wait()
        writer.write(crlf(SWITCH) if b"/tunnel" in head else b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read()

    async with (
        open_house(tmp_path, app, level=Level.OPEN, config={"drain_s": 1.0}) as house,
        visit(house) as slow,
        visit(house) as tunnel,
        visit(house) as resting,
    ):
        await slow.send(get(house, "/slow"))
        await tunnel.send(get(house, "/tunnel", UPGRADE))
        await tunnel.head()
        await resting.send(get(house))
        assert (await resting.response())[2] == b"ok"
        house.stop()
        assert await resting.rest() == b""
        go.set()
        _, head, body = await slow.response()
        assert body == b"ok"
        assert b"Connection: close\r\n" in head
        assert await tunnel.rest() == close_frame(Refusal(Code.RESTARTING))


async def test_in_the_middle_of_a_frame_only_a_reset_is_honest(tmp_path: Path) -> None:
    """A close frame there would be read as payload; other protocols have no goodbye of ours."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(SWITCH if b"WebSocket" in head else SWITCH.replace("websocket", "other")) + b"\x82\x05ab")
        await reader.read()

    for upgrade in (UPGRADE, UPGRADE.replace("WebSocket", "other")):
        async with open_house(tmp_path, app) as house, visit(house) as peer:
            await peer.send(get(house, more=f"Cookie: {house.ticket()}\n" + upgrade))
            await peer.head()
            assert await peer.exactly(4) == b"\x82\x05ab"
            house.remove(house.entry)
            assert await cut_after(peer) == b""
