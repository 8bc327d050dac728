"""Load of a bounded time on one entry, over raw sockets: as little of our own as can be between clock and wire."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import quantiles

_WAIT_S = 10.0
Act = Callable[[], Awaitable[int]]
"""One visit or request; returns the body bytes that it moved."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What `count` acts within `spent_s` seconds came to; latencies in milliseconds."""

    count: int
    spent_s: float
    moved_bytes: int
    median_ms: float
    p99_ms: float

    @property
    def per_s(self) -> float:
        return self.count / self.spent_s

    @property
    def megabytes_per_s(self) -> float:
        return self.moved_bytes / self.spent_s / 1e6


async def measure(act: Act, *, clients: int, for_s: float) -> Figures:
    """`clients` each act again and again for `for_s` seconds."""
    latencies: list[float] = []
    moved = 0
    began = time.perf_counter()

    async def client() -> None:
        nonlocal moved
        while (start := time.perf_counter()) - began < for_s:
            moved += await asyncio.wait_for(act(), _WAIT_S)
            latencies.append(time.perf_counter() - start)

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(client())
    spent_s = time.perf_counter() - began
    cuts = quantiles(latencies, n=100)
    return Figures(len(latencies), spent_s, moved, cuts[49] * 1e3, cuts[98] * 1e3)


def visit(port: int, host: str, path: str) -> Act:
    """A new connection, one request, its whole answer."""
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()

    async def act() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        try:
            writer.write(head)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer
            moved = 0
            while chunk := await reader.read(1 << 18):
                moved += len(chunk)
            return moved
        finally:
            writer.close()

    return act


class Echo:
    """An upgraded connection whose far end sends every byte back."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int, host: str) -> Echo:
        """The tunnel, ready to carry."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /tunnel HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 101"), answer
        return cls(reader, writer)

    async def keystroke(self) -> int:
        """One byte there and back."""
        self._writer.write(b"x")
        return len(await self._reader.readexactly(1))

    def close(self) -> None:
        """Ends the tunnel."""
        self._writer.close()
