"""The way out for a job whose namespace holds nothing but loopback: an HTTP CONNECT proxy (RFC 9110, 9.3.6).

Its listener lies inside the job's namespace, the process outside, with the person's uid and no
rights. It refuses the machine's own addresses, its other subnets, loopback and link-local, and
dials the very address that it checked, so that a name cannot mean one thing first and another later.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from . import kernel
from .neighbours import LOOPBACK, Network, forbidden

_HEAD_LIMIT: Final = 8 * 1024
_HEAD_S: Final = 10
_DIAL_S: Final = 20
_IDLE_S: Final = 600
_VISITS: Final = 256
_CHUNK: Final = 64 * 1024

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def fork_outlet(listener: socket.socket, uid: int | None) -> int:
    """Serves the listener in a process of its own that ends with this one; its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            kernel.die_with_parent(signal.SIGKILL)
            _close_all_but(listener.fileno())
            if uid is not None:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                kernel.die_with_parent(signal.SIGKILL)  # a change of uid forgets it
            asyncio.run(serve(listener))
        finally:
            os._exit(0)
    return pid


async def serve(listener: socket.socket, refused: Callable[[], tuple[Network, ...]] = forbidden) -> None:
    """Serves until cancelled; `refused` says at each request what may not be reached."""
    slots = asyncio.Semaphore(_VISITS)

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with slots:
            with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
                await _serve_one((reader, writer), refused)
            writer.close()

    server = await asyncio.start_server(visit, sock=listener, limit=_HEAD_LIMIT)
    async with server:
        await server.serve_forever()


async def _serve_one(job: Streams, refused: Callable[[], tuple[Network, ...]]) -> None:
    try:
        async with asyncio.timeout(_HEAD_S):
            head = await job[0].readuntil(b"\r\n\r\n")
        host, port = parse_connect(head)
    except (ValueError, asyncio.LimitOverrunError):
        await _answer(job, "405 Only CONNECT host:port is served")
        return
    world = await _dial(host, port, refused())
    if isinstance(world, str):
        await _answer(job, world)
        return
    await _answer(job, "200 Connected")
    async with asyncio.TaskGroup() as group:
        group.create_task(_copy(job[0], world[1]))
        group.create_task(_copy(world[0], job[1]))
    world[1].close()


def parse_connect(head: bytes) -> tuple[str, int]:
    """Host and port of a CONNECT request's head. Raises ValueError for anything else."""
    method, target, version = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
    host, colon, port = target.rpartition(":")
    if method != "CONNECT" or not version.startswith("HTTP/1.") or not colon or not 0 < int(port) < 65_536:
        raise ValueError("not a CONNECT request")
    return host.removeprefix("[").removesuffix("]"), int(port)


def may_reach(address: str, refused: tuple[Network, ...]) -> bool:
    """Whether a job may open a connection to the address, in whatever clothes it comes."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return not any(parsed in network for network in (*refused, *LOOPBACK)) and not (
        parsed.is_unspecified or parsed.is_multicast
    )


async def _dial(host: str, port: int, refused: tuple[Network, ...]) -> Streams | str:
    try:
        async with asyncio.timeout(_DIAL_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = [str(entry[4][0]) for entry in found]
            allowed = [address for address in addresses if may_reach(address, refused)]
            if not allowed:
                return "403 This machine is out of bounds"
            for address in allowed[:4]:
                with suppress(OSError):
                    return await asyncio.open_connection(address, port)
    except (OSError, TimeoutError, UnicodeError):
        pass
    return "502 No connection"


async def _answer(job: Streams, status: str) -> None:
    job[1].write(f"HTTP/1.1 {status}\r\n\r\n".encode())
    await job[1].drain()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(_IDLE_S):
                chunk = await source.read(_CHUNK)
                if not chunk:
                    break
                sink.write(chunk)
                await sink.drain()
        sink.write_eof()


def _close_all_but(kept: int) -> None:
    os.closerange(3, kept)
    os.closerange(kept + 1, 1 << 16)
