"""One local connection's way through the gateway to an entry: TLS, an Upgrade, then frames or plain requests.

The gateway's half is gateway/entries/http/tunnel.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from dataclasses import dataclass, field
from typing import Any, Final

from control.cli.words import Words
from gateway.contract.bridge import FRAME_HEAD_BYTES, FrameKind, decode_frame_head, encode_frame

CONNECT_S: Final = 15.0
PAYLOAD_BYTES: Final = 32 * 1024
LINGER_S: Final = 10.0
"""Seconds for an answer that still comes after a local program ended its side of an http connection."""
_HEAD_LIMIT: Final = 64 * 1024
_RESET: Final = struct.pack("ii", 1, 0)


class RefusedError(Exception):
    """The gateway does not let the person pass, or cannot be reached; the message is for them."""


@dataclass(frozen=True, slots=True)
class Way:
    """How an entry is reached: the gateway's address, the entry's host, the person's token, whom to trust."""

    address: str
    port: int
    host: str
    token: str = field(repr=False)
    context: ssl.SSLContext
    say: Words


async def carry(way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carries a local connection until both directions have ended.

    Raises RefusedError; what breaks off on one side is a reset for the other.
    """
    try:
        up_reader, up_writer, mode = await _open(way)
    except RefusedError:
        _reset(writer)
        raise
    joint = _frames if mode == "frames" else _plain
    try:
        await joint(way, (reader, writer), (up_reader, up_writer))
    except (ConnectionError, asyncio.IncompleteReadError):
        _reset(writer)
    finally:
        up_writer.transport.abort()
        writer.close()


async def _open(way: Way) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    try:
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(
                way.address, way.port, ssl=way.context, server_hostname=way.host, limit=_HEAD_LIMIT
            )
            writer.write(_request(way))
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            if head[0].split(" ")[1] == "101":
                return reader, writer, _value(head, "x-starlight-forward")
            refused = await reader.read(_HEAD_LIMIT)
            writer.transport.abort()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError) as fault:
        where = f"{way.address}:{way.port}"
        why = str(fault) or type(fault).__name__
        raise RefusedError(
            way.say("无法连接 {where}：{why}", "{where} cannot be reached: {why}", where=where, why=why)
        ) from (fault)
    raise RefusedError(_sentence(refused) or head[0])


def _request(way: Way) -> bytes:
    token = f"X-Starlight-Token: {way.token}\r\n" if way.token else ""
    return (
        f"GET /.starlight/forward HTTP/1.1\r\nHost: {way.host}\r\nConnection: Upgrade\r\n"
        f"Upgrade: starlight-forward\r\n{token}Accept-Language: {way.say.language}\r\n\r\n"
    ).encode("latin-1")


def _value(head: list[str], name: str) -> str:
    for line in head:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return ""


def _sentence(body: bytes) -> str:
    try:
        problem: Any = json.loads(body)
        return f"{problem['title']} {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return ""


Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _frames(way: Way, local: Side, up: Side) -> None:
    """A tcp entry: each direction ends by itself. Raises ConnectionError, and RefusedError when the visit is cut."""

    async def outward() -> None:
        while data := await local[0].read(PAYLOAD_BYTES):
            up[1].write(encode_frame(FrameKind.DATA, data))
            await up[1].drain()
        up[1].write(encode_frame(FrameKind.EOF))
        await up[1].drain()

    async def inward() -> None:
        while True:
            kind, length = decode_frame_head(await up[0].readexactly(FRAME_HEAD_BYTES))
            payload = await up[0].readexactly(length)
            if kind is FrameKind.ERROR:
                raise RefusedError(json.loads(payload)[way.say.language])
            if kind is FrameKind.EOF:
                local[1].write_eof()
                return
            local[1].write(payload)
            await local[1].drain()

    try:
        await _both(outward(), inward())
    except RefusedError:
        _reset(local[1])
        raise


async def _plain(way: Way, local: Side, up: Side) -> None:  # noqa: ARG001 - the same shape as _frames
    """An http entry: requests and answers as they are; an answer may still come after the local side ended."""

    async def outward() -> None:
        while data := await local[0].read(PAYLOAD_BYTES):
            up[1].write(data)
            await up[1].drain()
        await asyncio.sleep(LINGER_S)
        up[1].transport.abort()

    async def inward() -> None:
        while data := await up[0].read(PAYLOAD_BYTES):
            local[1].write(data)
            await local[1].drain()

    async with asyncio.TaskGroup() as group:
        lingering = group.create_task(_quietly(outward()))
        await inward()
        lingering.cancel()


async def _both(outward: Any, inward: Any) -> None:  # Any: two coroutines, whatever they give
    """Runs both directions to their ends. Raises the first one's fault, the other being cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(outward)
            group.create_task(inward)
    except BaseExceptionGroup as faults:
        refused, _ = faults.split(RefusedError)
        raise (refused or faults).exceptions[0] from None


async def _quietly(work: Any) -> None:  # Any: a coroutine, whatever it gives
    with contextlib.suppress(ConnectionError):
        await work


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends a local connection so that nobody takes what came for the whole."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
