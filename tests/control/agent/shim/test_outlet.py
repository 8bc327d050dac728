"""The CONNECT proxy: through it to the world, never back to the machine."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from control.agent.shim import outlet
from control.agent.shim.neighbours import Network
from control.agent.shim.outlet import may_reach, parse_connect

REFUSED: tuple[Network, ...] = (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fe80::/10"))


@pytest.mark.parametrize(
    ("head", "target"),
    [
        (b"CONNECT example.test:443 HTTP/1.1\r\nHost: example.test\r\n\r\n", ("example.test", 443)),
        (b"CONNECT [2001:db8::1]:80 HTTP/1.0\r\n\r\n", ("2001:db8::1", 80)),
    ],
)
def test_connect_is_understood(head: bytes, target: tuple[str, int]) -> None:
    """Names and numbers, with the brackets taken off."""
    assert parse_connect(head) == target


@pytest.mark.parametrize(
    "head",
    [
        b"GET http://example.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.test HTTP/1.1\r\n\r\n",
        b"CONNECT example.test:0 HTTP/1.1\r\n\r\n",
        b"CONNECT example.test:99999 HTTP/1.1\r\n\r\n",
        b"CONNECT example.test:x HTTP/1.1\r\n\r\n",
        b"CONNECT \xff:1 HTTP/1.1\r\n\r\n",
        b"\r\n\r\n",
    ],
)
def test_anything_else_is_refused(head: bytes) -> None:
    """ValueError, whatever comes."""
    with pytest.raises(ValueError):  # noqa: PT011 - Python's own parsers raise it with their own words
        parse_connect(head)


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("192.0.2.7", True),
        ("2001:db8::7", True),
        ("10.2.3.4", False),
        ("::ffff:10.2.3.4", False),
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("224.0.0.1", False),
    ],
)
def test_an_address_is_judged_in_whatever_clothes(address: str, reached: bool) -> None:
    """Mapped, scoped, unspecified and multicast forms are seen through."""
    assert may_reach(address, REFUSED) is reached


@asynccontextmanager
async def proxy(monkeypatch: pytest.MonkeyPatch, *, world: str | None = None) -> AsyncIterator[int]:
    """A running proxy; its port. `world` is one address that it takes for the world's."""
    if world is not None:
        monkeypatch.setattr(outlet, "may_reach", lambda address, _: address == world)
    async with asyncio.TaskGroup() as group:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        serving = group.create_task(outlet.serve(listener, lambda: REFUSED))
        yield port
        serving.cancel()


async def asked(port: int, head: bytes) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
    """The first line of the proxy's answer, and the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)
    answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    return answer.split(b"\r\n")[0], reader, writer


async def test_bytes_pass_both_ways_and_each_end_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half-close included: the answer comes after the question's end."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        writer.close()

    async with (
        await asyncio.start_server(echo, "127.0.0.1", 0) as server,
        proxy(monkeypatch, world="127.0.0.1") as port,
    ):
        target = server.sockets[0].getsockname()[1]
        status, reader, writer = await asked(port, f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode())
        assert status == b"HTTP/1.1 200 Connected"
        writer.write(b"x" * 500_000)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 10) == b"x" * 500_000
        writer.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "[::ffff:127.0.0.1]"])
async def test_the_machine_is_out_of_bounds(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """By name or by number."""
    async with proxy(monkeypatch) as port:
        status, _, writer = await asked(port, f"CONNECT {host}:22 HTTP/1.1\r\n\r\n".encode())
        assert status == b"HTTP/1.1 403 This machine is out of bounds"
        writer.close()


async def test_other_methods_and_long_heads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer for whatever is no CONNECT, and no more than 8 KiB is read for it."""
    async with proxy(monkeypatch) as port:
        for head in (b"GET / HTTP/1.1\r\n\r\n", b"CONNECT " + b"x" * 20_000):
            status, _, writer = await asked(port, head)
            assert status == b"HTTP/1.1 405 Only CONNECT host:port is served"
            writer.close()


async def test_nobody_there_is_a_bad_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection is told as such."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        target = closed.getsockname()[1]
    async with proxy(monkeypatch, world="127.0.0.1") as port:
        status, _, writer = await asked(port, f"CONNECT 127.0.0.1:{target} HTTP/1.1\r\n\r\n".encode())
        assert status == b"HTTP/1.1 502 No connection"
        writer.close()
