"""WebSocket over HTTP/2 (RFC 8441): asked for by extended CONNECT, an ordinary upgrade for the app."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websocket
from websockets.frames import Frame, Opcode
from websockets.utils import accept_key

from gateway.contract.routes import Level
from tests.gateway.entries.http2.client import Client, Headers, client
from tests.gateway.entries.http2.house import holds, open_https_house, says

SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"


def socket_head(person: Client, *more: tuple[str, str]) -> Headers:
    """What a browser says to open one."""
    pseudo = [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https")]
    named = [(":authority", person.authority), (":path", "/socket?a=1")]
    return [*pseudo, *named, ("sec-websocket-version", "13"), ("origin", f"https://{person.authority}"), *more]


def masked(*frames: Frame) -> bytes:
    """The frames as a client sends them."""
    return b"".join(frame.serialize(mask=True) for frame in frames)


async def no_app(reader: Reader, writer: Writer) -> None:
    """Is not to be dialled."""
    pytest.fail("the wrong app was dialled")


async def test_a_websocket_from_end_to_end(tmp_path: Path) -> None:
    """Subprotocol, messages both ways, a ping answered by the app, and an orderly end."""

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async with (
        serve_websocket(echo, "127.0.0.1", 0, subprotocols=["tty"]) as server,  # type: ignore[list-item] # a NewType
        open_https_house(tmp_path, no_app, level=Level.PRIVATE) as house,
        client(house) as person,
    ):
        house.app_address = next(iter(server.sockets)).getsockname()
        asked = socket_head(person, ("sec-websocket-protocol", "none, tty"), ("cookie", house.ticket()))
        number = await person.ask_with(asked, end=False)
        await person.until(lambda: number in person.heads)
        head = person.heads[number]
        assert (head[":status"], head["sec-websocket-protocol"]) == ("200", "tty")
        assert not {"upgrade", "connection", "sec-websocket-accept"} & head.keys()
        person.h2.send_data(number, masked(Frame(Opcode.TEXT, b"hi"), Frame(Opcode.PING, b"p")))
        await person.flush()
        await person.until(lambda: len(person.bodies[number]) >= 7)
        assert b"\x81\x02hi" in person.bodies[number] and b"\x8a\x01p" in person.bodies[number]
        person.h2.send_data(number, masked(Frame(Opcode.CLOSE, b"\x03\xe8")))
        await person.flush()
        await person.until(lambda: number in person.ended)
        assert person.bodies[number].endswith(b"\x88\x02\x03\xe8")
        person.h2.end_stream(number)
        await person.flush()
        await holds(lambda: len(house.gate.visits) == 0)


async def test_no_right_no_websocket(tmp_path: Path) -> None:
    """Its status instead, and no redirect (B18); a page of another site is refused though it has the cookie."""
    async with open_https_house(tmp_path, no_app, level=Level.PRIVATE) as house, client(house) as person:
        stranger = await person.ask_with(socket_head(person), end=False)
        assert (await person.answer(stranger))[0] == "401"
        head = [(name, "https://evil.example" if name == "origin" else value) for name, value in socket_head(person)]
        number = await person.ask_with([*head, ("cookie", house.ticket())], end=False)
        assert (await person.answer(number))[0] == "403"


async def test_withdrawing_the_right_says_goodbye_in_the_protocols_words(tmp_path: Path) -> None:
    """1008, and the end of the stream."""

    async def silent(connection: ServerConnection) -> None:
        await connection.wait_closed()

    async with (
        serve_websocket(silent, "127.0.0.1", 0) as server,
        open_https_house(tmp_path, no_app, level=Level.PRIVATE) as house,
        client(house) as person,
    ):
        house.app_address = next(iter(server.sockets)).getsockname()
        number = await person.ask_with([*socket_head(person), ("cookie", house.ticket())], end=False)
        await person.until(lambda: number in person.heads)
        house.remove(house.entry)
        await person.until(lambda: number in person.ended or number in person.resets)
        assert number in person.ended
        assert bytes(person.bodies[number]) == b"\x88\x0b\x03\xf0withdrawn"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        SWITCHED + b"Sec-WebSocket-Accept: wrong\r\n\r\n",
        SWITCHED + b"\r\n",
    ],
)
async def test_an_app_that_does_not_switch_has_not_opened_one(tmp_path: Path, answer: bytes) -> None:
    """200 would mean a WebSocket in HTTP/2: it becomes 502."""
    async with open_https_house(tmp_path, says(answer)) as house, client(house) as person:
        number = await person.ask_with(socket_head(person), end=False)
        assert await person.answer(number) == ("502", b"")


async def test_an_app_that_refuses_is_heard(tmp_path: Path) -> None:
    """Its status and its words."""
    answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"
    async with open_https_house(tmp_path, says(answer)) as house, client(house) as person:
        number = await person.ask_with(socket_head(person), end=False)
        assert await person.answer(number) == ("404", b"no")


async def test_an_apps_switch_that_nobody_asked_for_is_a_fault(tmp_path: Path) -> None:
    """HTTP/2 has no 101."""
    async with open_https_house(tmp_path, says(SWITCHED + b"\r\n")) as house, client(house) as person:
        assert (await person.answer(await person.ask()))[0] == "502"


async def test_half_closes_pass_both_ways(tmp_path: Path) -> None:
    """END_STREAM is the app's end of input, and its last words still arrive (B21)."""

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        key = next(line for line in head.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key: ")).partition(b": ")[2]
        accept = accept_key(key.decode()).encode()
        writer.write(SWITCHED + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n\x81\x02hi")
        said = await reader.read()
        writer.write(b"heard " + said)
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask_with(socket_head(person), end=False)
        await person.until(lambda: bytes(person.bodies[number]) == b"\x81\x02hi")
        person.h2.send_data(number, b"bye", end_stream=True)
        await person.flush()
        assert await person.answer(number) == ("200", b"\x81\x02hiheard bye")


async def test_other_protocols_are_not_connected(tmp_path: Path) -> None:
    """501."""
    async with open_https_house(tmp_path, no_app) as house, client(house) as person:
        head = [(name, "connect-udp" if name == ":protocol" else value) for name, value in socket_head(person)]
        assert (await person.answer(await person.ask_with(head, end=False)))[0] == "501"


async def test_a_slow_reader_of_a_websocket_stops_the_app(tmp_path: Path) -> None:
    """Its window holds for a tunnel as for an answer."""
    sent = 0

    async def pour(connection: ServerConnection) -> None:
        nonlocal sent
        while True:
            await connection.send(bytes(65536))
            sent += 65536

    async with (
        serve_websocket(pour, "127.0.0.1", 0) as server,
        open_https_house(tmp_path, no_app) as house,
        client(house) as person,
    ):
        house.app_address = next(iter(server.sockets)).getsockname()
        person.acknowledges = False
        number = await person.ask_with(socket_head(person), end=False)
        await person.until(lambda: len(person.bodies[number]) == 65535)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 12 << 20
