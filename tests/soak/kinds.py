"""The kinds of connections. Each is opened, used, and ended as told; AssertionError says that bytes were wrong."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import asyncssh
from websockets.asyncio.client import connect

from tests.soak.place import End, Line, Place, line

Kind = Callable[[Place, End], Awaitable[None]]
LARGE = 8 << 20
UPGRADE = ("Connection: Upgrade", "Upgrade: echo")


async def requests(place: Place, end: End) -> None:
    """A few on one connection, over http or https."""
    name = random.choice(["web", "safe"])
    async with reach(place, name) as peer:
        for _ in range(random.randint(1, 5)):
            await peer.say(place.head(name, "GET /small"))
            assert await peer.answer() == (200, b"0123456789")
        await leave(peer, end)


async def downloads(place: Place, end: End) -> None:
    """Whole, or given up in the middle, or broken off by the app, which must show."""
    name = random.choice(["web", "safe"])
    async with reach(place, name) as peer:
        if end is End.APP_CUTS:
            await peer.say(place.head(name, f"GET /cut/{LARGE}"))
            await peer.head()
            try:
                await peer.hear(2 * LARGE)
            except (asyncio.IncompleteReadError, OSError):
                return
            raise AssertionError("an answer that broke off looked complete")
        await peer.say(place.head(name, f"GET /bytes/{LARGE}"))
        await peer.head()
        got = await peer.hear(LARGE if end is End.APP_ENDS else LARGE // 3)
        assert got[:512] == bytes(range(256)) * 2
        await leave(peer, end)


async def uploads(place: Place, end: End) -> None:
    """Whole, or given up in the middle."""
    name = random.choice(["web", "safe"])
    async with reach(place, name) as peer:
        await peer.say(place.head(name, "POST /", f"Content-Length: {LARGE}"))
        await peer.say(bytes(LARGE if end is End.APP_ENDS else LARGE // 3))
        if end is End.APP_ENDS:
            assert await peer.answer() == (200, b"%d" % LARGE)
        await leave(peer, end)


async def events(place: Place, end: End) -> None:
    """A stream that only its reader ends."""
    async with reach(place, "web") as peer:
        await peer.say(place.head("web", "GET /ticks"))
        await peer.head()
        assert await peer.hear(30) == b"5\r\ntick\n\r\n" * 3
        await leave(peer, end)


async def no_answers(place: Place, end: End) -> None:
    """An app that hangs up, a host nobody has, somebody without a right."""
    async with reach(place, "web") as peer:
        match end:
            case End.APP_ENDS | End.APP_CUTS:
                await peer.say(place.head("web", "GET /end"))
                assert (await peer.answer())[0] == 502
            case End.PERSON_ENDS:
                await peer.say(place.head("web", "GET /", token="sl_nobody"))
                assert (await peer.answer())[0] == 401
            case End.PERSON_CUTS:
                await peer.say(b"GET / HTTP/1.1\r\nHost: " + b"0" * 32 + b".proxy.localhost\r\n\r\n")
                assert (await peer.answer())[0] == 404
        await leave(peer, end)


async def half_heads(place: Place, end: End) -> None:
    """Who leaves before anything was asked."""
    async with reach(place, "web") as peer:
        await peer.say(place.head("web", "GET /small")[: random.randint(1, 60)])
        await leave(peer, end)


async def half_hellos(place: Place, end: End) -> None:
    """Who leaves in the middle of TLS's handshake."""
    port = place.port(random.choice(["safe", "raw-safe"]))
    async with line(port) as peer:
        await peer.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[: random.randint(0, 11)])
        await leave(peer, end)


async def tunnels(place: Place, end: End) -> None:
    """After an upgrade."""
    name = random.choice(["web", "safe"])
    async with reach(place, name) as peer:
        await peer.say(place.head(name, "GET /", *UPGRADE))
        assert (await peer.head()).startswith(b"HTTP/1.1 101")
        await echoed(peer, end)


async def raw(place: Place, end: End) -> None:
    """A tcp entry without TLS."""
    async with line(place.port("raw-open")) as peer:
        await echoed(peer, end)


async def raw_safe(place: Place, end: End) -> None:
    """A tcp entry through TLS, by a client certificate."""
    async with line(place.port("raw-safe"), place.client_tls, place.entries["raw-safe"]["host"]) as peer:
        await echoed(peer, end)


async def terminals(place: Place, end: End) -> None:
    """A shell in the browser: left open, or ended by `exit`."""
    host, port = place.entries["desk"]["host"], place.port("desk")
    url, own = f"ws://{host}:{port}/.starlight/terminal", {"X-Starlight-Token": place.owner.token}
    async with connect(url, host="127.0.0.1", port=port, additional_headers=own, proxy=None) as terminal:
        await terminal.send(json.dumps({"rows": 24, "cols": 80}))
        await terminal.send(b"echo $((6 * 7)); exit\r" if end is End.APP_ENDS else b"echo $((6 * 7))\r")
        seen = b""
        while b"42" not in seen:
            said = await terminal.recv()
            seen += said if isinstance(said, bytes) else b""
        if end is End.PERSON_CUTS:
            terminal.transport.abort()


async def shells(place: Place, end: End) -> None:
    """ssh: a command, then a forwarded port, then the end."""
    async with asyncssh.connect(
        "127.0.0.1", place.product.ports["SSH"], username=f"alice+{place.job['id']}",
        client_keys=[place.key], known_hosts=None, config=None, agent_path=None,
    ) as connection:  # fmt: skip
        done = await connection.run("echo in $((6 * 7))", check=True)
        assert done.stdout == "in 42\n"
        reader, writer = await connection.open_connection(
            "localhost", place.entries["raw-open"]["target_port"], encoding=None
        )
        writer.write(b"through ssh")
        assert await reader.readexactly(11) == b"through ssh"
        if end is End.PERSON_CUTS:
            connection.abort()


KINDS: dict[Kind, int] = {
    requests: 6, downloads: 2, uploads: 2, events: 3, no_answers: 3, half_heads: 2, half_hellos: 2,
    tunnels: 6, raw: 4, raw_safe: 4, terminals: 1, shells: 1,
}  # fmt: skip
"""Each with how often it comes beside the others: programs that start in the job cost most."""


def reach(place: Place, name: str) -> AbstractAsyncContextManager[Line]:
    """A connection to an http or https entry."""
    tls = place.tls if place.entries[name]["protocol"] == "https" else None
    return line(place.port(name), tls, place.entries[name]["host"] if tls else None)


async def echoed(peer: Line, end: End) -> None:
    """Some bytes there and back, then the end as told."""
    for _ in range(random.randint(0, 5)):
        data = random.randbytes(random.choice([1, 70, 3000, 200_000]))
        await asyncio.gather(peer.say(data), expect(peer, data))
    match end:
        case End.APP_ENDS | End.APP_CUTS:
            await peer.say(b"end!" if end is End.APP_ENDS else b"cut!")
            assert await peer.over(), "bytes after the end"
        case _:
            await leave(peer, end)


async def expect(peer: Line, data: bytes) -> None:
    assert await peer.hear(len(data)) == data


async def leave(peer: Line, end: End) -> None:
    """The person's end: by a reset, or in order, half-closed where that can be."""
    if end is End.PERSON_CUTS:
        peer.cut()
    elif end is End.PERSON_ENDS and peer.writer.can_write_eof():
        peer.writer.write_eof()
