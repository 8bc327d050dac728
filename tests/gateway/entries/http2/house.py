"""A house whose entry is https, and apps for it."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway.contract.codec import Record
from gateway.contract.routes import Level
from tests.gateway import tls_client
from tests.gateway.entries.http.house import App, House, open_house


@asynccontextmanager
async def open_https_house(
    run_dir: Path, app: App, *records: Record, level: Level = Level.OPEN, **more: Any
) -> AsyncIterator[House]:
    """Entry 17 over TLS, open unless told otherwise."""
    certificate = tls_client.server_certificate()
    async with open_house(run_dir, app, certificate, *records, level=level, scheme="https", **more) as house:
        yield house


async def echo_heads(reader: Reader, writer: Writer) -> None:
    """Answers each request with its head."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(head), head))
        await writer.drain()


async def echo_bodies(reader: Reader, writer: Writer) -> None:
    """Answers with the request's head and body, chunk framing included, as it comes."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + head)
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
        if data.endswith(b"0\r\n\r\n"):
            return


def says(answer: bytes) -> App:
    """Answers each request with these bytes."""

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()

    return app


async def holds(what: Callable[[], object]) -> None:
    """Waits until it holds."""
    async with asyncio.timeout(5):
        while not what():
            await asyncio.sleep(0.005)
