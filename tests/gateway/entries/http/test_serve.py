"""The front as real programs meet it: curl, a WebSocket library, many at once."""

from __future__ import annotations

import asyncio
import hashlib
import os
import resource
import socket
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websocket
from websockets.exceptions import ConnectionClosed

from gateway.contract.routes import Level
from tests.gateway.entries.http.house import BEARER, House, open_house
from tests.gateway.entries.http.test_passage import echo_heads


async def curl(house: House, path: str, *options: str) -> tuple[int, bytes]:
    """Status and body as curl sees them."""
    process = await asyncio.create_subprocess_exec(
        *("curl", "-sS", "--path-as-is", "--max-time", "20", "-w", "\n%{http_code}", "-A", "curl", *options),
        *("--resolve", f"{house.host}:127.0.0.1", f"http://{house.host}{path}"),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    body, _, status = out.rpartition(b"\n")
    return int(status), body


async def test_curl_gets_an_open_entrys_bytes_unchanged(tmp_path: Path) -> None:
    """Any bytes, compared by their hash."""
    content = hashlib.shake_256(b"seed").digest(3 << 20)

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for at in range(0, len(content), 70_001):
            piece = content[at : at + 70_001]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        assert await curl(house, "/a%2F../b;c?d=%20") == (200, content)


async def test_curl_without_a_session(tmp_path: Path) -> None:
    """401 with a link, never a redirect loop; with a token it passes."""
    async with open_house(tmp_path, echo_heads, level=Level.LOGIN) as house:
        status, body = await curl(house, "/", "-L")
        assert status == 401
        assert f'"login_url": "http://{house.host}/"'.encode() in body
        assert (await curl(house, "/", "-H", f"X-Starlight-Token: {BEARER}"))[0] == 200


async def test_curl_uploads_with_expect(tmp_path: Path) -> None:
    """It waits for 100 and sends then."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        data = await reader.readexactly(2 << 20)
        digest = hashlib.sha256(data).hexdigest().encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + digest)
        await reader.read()

    upload = tmp_path / "upload"
    upload.write_bytes(hashlib.shake_256(b"up").digest(2 << 20))
    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        status, body = await curl(house, "/", "-T", str(upload), "-H", "Expect: 100-continue")
        assert (status, body.decode()) == (200, hashlib.sha256(upload.read_bytes()).hexdigest())


async def test_curl_is_told_of_a_truncated_answer(tmp_path: Path) -> None:
    """It does not exit with 0."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")

    async with open_house(tmp_path, app, level=Level.OPEN) as house:
        process = await asyncio.create_subprocess_exec(
            *("curl", "-s", "--resolve", f"{house.host}:127.0.0.1", f"http://{house.host}/"),
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await process.wait() != 0


async def test_a_websocket_library_on_both_sides(tmp_path: Path) -> None:
    """Compression, subprotocol, fragments, pings and large messages are the two peers' own (B07, B10, B11, B12)."""

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async def no_app(reader: Reader, writer: Writer) -> None:
        pytest.fail("the wrong app was dialled")

    async with (
        serve_websocket(echo, "127.0.0.1", 0, subprotocols=["tty"]) as server,  # type: ignore[list-item] # a NewType
        open_house(tmp_path, no_app) as house,
    ):
        house.app_address = next(iter(server.sockets)).getsockname()
        async with connect(
            f"ws://{house.host}/socket",
            host="127.0.0.1",
            port=house.port,
            subprotocols=["none", "tty"],  # type: ignore[list-item] # a NewType
            additional_headers={"Cookie": house.ticket()},
            proxy=None,
        ) as client:
            assert client.subprotocol == "tty"
            await (await client.ping(b"payload"))
            await client.send(["frag", "ment"])
            assert await client.recv() == "fragment"
            large = bytes(900_000)
            await client.send(large)
            assert await client.recv() == large
            house.remove(house.entry)
            with pytest.raises(ConnectionClosed) as caught:
                await client.recv()
            assert caught.value.rcvd is not None
            assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1008, "withdrawn")


async def test_without_descriptors_people_wait_and_are_served_later(tmp_path: Path) -> None:
    """The listener neither spins nor dies."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house:
        with socket.socket() as sock:
            sock.setblocking(False)
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            lowest_free = os.dup(sock.fileno())
            os.close(lowest_free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
            try:
                await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", house.port))
                await asyncio.sleep(0.1)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(f"GET / HTTP/1.1\r\nHost: {house.host}\r\n\r\n".encode())
            async with asyncio.timeout(5):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.transport.abort()
