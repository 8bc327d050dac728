"""`starlight forward` at the gateway: who gets a tunnel, what travels in it, how it is cut."""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.contract.bridge import FRAME_HEAD_BYTES, Fault, FrameKind, decode_frame_head, encode_frame
from gateway.contract.codec import Record
from gateway.contract.people import Scope
from gateway.contract.routes import Entry, Level, Protocol
from gateway.core.tickets import token_digest
from gateway.entries.http import tunnel
from tests.gateway import world
from tests.gateway.entries.http.house import BEARER, BOBS_BEARER, App, House, Peer, open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads
from tests.gateway.loops import Runner, both_loops
from tests.gateway.tls_client import client_context, server_certificate

TCP = world.entry(18, protocol=Protocol.TCP, port=8999)


async def echo(reader: Reader, writer: Writer) -> None:
    """Sends back what comes, and the end after it."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def reply_after_the_end(reader: Reader, writer: Writer) -> None:
    """Answers only once the other side has ended."""
    data = await reader.read()
    writer.write(data[::-1])


@asynccontextmanager
async def house_of(run_dir: Path, app: App, *records: Record, **more: Any) -> AsyncIterator[House]:
    """An https front with Alice's private tcp entry 18 beside her web entry 17, and one app behind both."""
    async with open_house(run_dir, app, TCP, server_certificate(), *records, scheme="https", **more) as house:
        yield house


@asynccontextmanager
async def asked(house: House, entry: Entry = TCP, bearer: str | None = BEARER, **more: str) -> AsyncIterator[Peer]:
    """A TLS connection that has asked for a tunnel to the entry."""
    fields = {"Host": entry.host, "Connection": "Upgrade", "Upgrade": "starlight-forward"}
    if bearer is not None:
        fields["X-Starlight-Token"] = bearer
    lines = [f"{name}: {value}" for name, value in (fields | more).items() if value]
    async with visit(house, ssl=client_context(), server_hostname=entry.host) as peer:
        await peer.send("\r\n".join(["GET /.starlight/forward HTTP/1.1", *lines, "", ""]).encode())
        yield peer


async def frame(peer: Peer) -> tuple[FrameKind, bytes]:
    """The next frame."""
    kind, length = decode_frame_head(await peer.exactly(FRAME_HEAD_BYTES))
    return kind, await peer.exactly(length)


@both_loops
def test_a_tcp_entry_takes_frames_and_each_direction_ends_by_itself(run: Runner, tmp_path: Path) -> None:
    """The person's EOF is the app's; its reply comes after it, and then its own end."""

    async def body() -> None:
        async with house_of(tmp_path, reply_after_the_end) as house, asked(house) as peer:
            head = await peer.head()
            assert head.startswith(b"HTTP/1.1 101 ")
            assert b"X-Starlight-Forward: frames\r\n" in head
            await peer.send(encode_frame(FrameKind.DATA, b"abc") + encode_frame(FrameKind.DATA, b"def"))
            await peer.send(encode_frame(FrameKind.EOF))
            assert await frame(peer) == (FrameKind.DATA, b"fedcba")
            assert await frame(peer) == (FrameKind.EOF, b"")
            assert await peer.rest() == b""

    run(body())


@both_loops
def test_much_passes_both_ways(run: Runner, tmp_path: Path) -> None:
    """Four MiB out and back, in frames that fit."""

    async def body() -> None:
        async with house_of(tmp_path, echo) as house, asked(house) as peer:
            await peer.head()
            part = bytes(range(256)) * (tunnel.PAYLOAD_BYTES // 256)

            async def send() -> None:
                for _ in range(128):
                    await peer.send(encode_frame(FrameKind.DATA, part))
                await peer.send(encode_frame(FrameKind.EOF))

            async with asyncio.TaskGroup() as group:
                group.create_task(send())
                got = b""
                while (said := await frame(peer))[0] is FrameKind.DATA:
                    got += said[1]
            assert got == part * 128

    run(body())


@both_loops
def test_a_web_entry_takes_requests_on_the_token(run: Runner, tmp_path: Path) -> None:
    """As many as one likes, whatever Host they name; the app sees neither the token nor one that is made up."""

    async def body() -> None:
        async with house_of(tmp_path, echo_heads) as house, asked(house, house.entry) as peer:
            assert b"X-Starlight-Forward: http\r\n" in await peer.head()
            for _ in range(2):
                await peer.send("GET /x HTTP/1.1\nHost: localhost:9000\nX-Starlight-Token: another\n\n")
                status, _, seen = await peer.response()
                assert status == 200
                assert b"localhost:9000" in seen
                assert b"oken" not in seen

    run(body())


async def test_what_was_asked_before_leads_to_the_tunnels_entry_after(tmp_path: Path) -> None:
    """The same request, word for word, before and after: each goes where its moment says."""
    name = world.entry().host
    other = world.entry(5, protocol=Protocol.HTTPS, port=9443, target_port=9001, host=name)
    again = f"GET /x HTTP/1.1\nHost: {name}\nX-Starlight-Token: {BEARER}\n\n"
    async with (
        house_of(tmp_path, echo_heads, other) as house,
        visit(house, ssl=client_context(), server_hostname=name) as peer,
    ):
        for _ in range(3):
            await peer.send(again)
            assert (await peer.response())[0] == 200
        await peer.send(
            f"GET /.starlight/forward HTTP/1.1\nHost: {name}\nConnection: Upgrade\n"
            f"Upgrade: starlight-forward\nX-Starlight-Token: {BEARER}\n\n"
        )
        assert b" 101 " in await peer.head()
        for _ in range(3):
            await peer.send(again)
            assert (await peer.response())[0] == 200
    assert [call.args["port"] for call in house.calls] == [8000, 9001]


@pytest.mark.parametrize(
    ("bearer", "status", "code"),
    [(None, 401, "sign_in"), ("sl_wrong", 401, "sign_in"), (BOBS_BEARER, 403, "entry_forbidden")],
)
async def test_who_may_not_pass_gets_no_tunnel(tmp_path: Path, bearer: str | None, status: int, code: str) -> None:
    """A problem instead, and the app is never dialled."""
    async with house_of(tmp_path, echo) as house, asked(house, bearer=bearer) as peer:
        answered, _, body = await peer.response()
        assert (answered, json.loads(body)["code"]) == (status, code)
        assert house.calls == []


async def test_a_cookie_opens_no_tunnel(tmp_path: Path) -> None:
    """Browsers send cookies along with what other sites ask them to send."""
    async with house_of(tmp_path, echo) as house, asked(house, house.entry, None, Cookie=house.ticket()) as peer:
        assert (await peer.response())[0] == 401


async def test_an_entry_token_opens_its_own_entry(tmp_path: Path) -> None:
    """And no other."""
    token = world.token(scope=Scope.ENTRY_CONNECT, entry_id=18, token_hash=token_digest("sl_narrow"))
    async with house_of(tmp_path, echo, token) as house:
        async with asked(house, TCP, "sl_narrow") as peer:
            assert b" 101 " in await peer.head()
        async with asked(house, house.entry, "sl_narrow") as peer:
            assert (await peer.response())[0] == 401


async def test_an_open_entry_asks_for_nothing(tmp_path: Path) -> None:
    """Anyone may pass it."""
    opened = world.entry(19, protocol=Protocol.TCP, port=8999, level=Level.OPEN)
    async with house_of(tmp_path, echo, opened) as house, asked(house, opened, None) as peer:
        assert b" 101 " in await peer.head()


async def test_what_asks_wrongly_is_told(tmp_path: Path) -> None:
    """Another protocol, none at all, an unknown host."""
    async with house_of(tmp_path, echo) as house:
        async with asked(house, Upgrade="websocket") as peer:
            assert (await peer.response())[0] == 426
        async with asked(house, Upgrade="") as peer:
            assert (await peer.response())[0] == 426
        async with asked(house, world.entry(99, protocol=Protocol.TCP, port=8999)) as peer:
            assert (await peer.response())[0] == 404
        async with asked(house, Host="other.proxy.localhost") as peer:
            assert (await peer.response())[0] == 421


async def test_an_app_that_does_not_listen_is_told_before_the_tunnel(tmp_path: Path) -> None:
    """With the status that any request would get."""
    async with house_of(tmp_path, echo) as house:
        house.fault = Fault.NOT_LISTENING
        async with asked(house) as peer:
            status, _, body = await peer.response()
            assert (status, json.loads(body)["code"]) == (502, "not_listening")


@both_loops
def test_a_withdrawal_cuts_with_a_sentence(run: Runner, tmp_path: Path) -> None:
    """Within the second, in both languages."""

    async def body() -> None:
        async with (
            house_of(tmp_path, echo, world.grant(entry_id=18)) as house,
            asked(house, bearer=BOBS_BEARER) as peer,
        ):
            await peer.head()
            await peer.send(encode_frame(FrameKind.DATA, b"ping"))
            assert await frame(peer) == (FrameKind.DATA, b"ping")
            house.remove(world.grant(entry_id=18))
            async with asyncio.timeout(1):
                kind, said = await frame(peer)
            assert kind is FrameKind.ERROR
            assert json.loads(said).keys() == {"code", "zh", "en"}
            assert json.loads(said)["code"] == "withdrawn"

    run(body())


async def test_a_withdrawn_token_ends_a_web_tunnel(tmp_path: Path) -> None:
    """What is asked next on it is asked by nobody."""
    async with house_of(tmp_path, echo_heads) as house, asked(house, house.entry) as peer:
        await peer.head()
        house.remove(world.user())
        try:
            await peer.send("GET / HTTP/1.1\nHost: localhost\n\n")
            said = await peer.rest()
        except ConnectionError:
            said = b""
        assert b" 200 " not in said


@pytest.mark.parametrize(
    "sent",
    [
        encode_frame(FrameKind.EXIT, b"{}"),
        encode_frame(FrameKind.DATA, bytes(tunnel.PAYLOAD_BYTES + 1)),
        encode_frame(FrameKind.EOF, b"x"),
        encode_frame(FrameKind.EOF) + encode_frame(FrameKind.DATA, b"x"),
        b"\xff" * FRAME_HEAD_BYTES,
        b"\0\xff\xff\xff\xff",
    ],
    ids=["exit", "too long", "full eof", "after the end", "no kind", "huge"],
)
async def test_frames_that_nobody_sends_end_the_tunnel(tmp_path: Path, sent: bytes) -> None:
    """Nothing is guessed; the app's connection goes with it."""
    gone = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        try:
            while await reader.read(65536):
                pass
        finally:
            gone.set()

    async with house_of(tmp_path, app) as house, asked(house) as peer:
        await peer.head()
        await peer.send(sent)
        async with asyncio.timeout(5):
            await gone.wait()


async def test_a_person_who_vanishes_takes_the_app_along(tmp_path: Path) -> None:
    """Without an EOF it is a cut."""
    cut = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        try:
            await reader.read()
        except ConnectionError:
            cut.set()
            raise

    async with house_of(tmp_path, app) as house:
        async with asked(house) as peer:
            await peer.head()
            await peer.send(encode_frame(FrameKind.DATA, b"half"))
        async with asyncio.timeout(5):
            await cut.wait()


async def test_an_app_that_breaks_ends_without_eof(tmp_path: Path) -> None:
    """Half of what it said is not taken for the whole."""

    async def app(reader: Reader, writer: Writer) -> None:
        writer.write(b"half")
        await writer.drain()
        await reader.read(1)
        writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER 0: a reset
        writer.transport.abort()

    async with house_of(tmp_path, app) as house, asked(house) as peer:
        await peer.head()
        assert await frame(peer) == (FrameKind.DATA, b"half")
        await peer.send(encode_frame(FrameKind.DATA, b"x"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await frame(peer)
