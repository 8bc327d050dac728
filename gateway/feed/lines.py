"""JSON objects, one a line, over a stream: what both ends of the feed read and write.

Every write has a deadline and every line a limit, so that a peer which does not read, or never ends
its line, costs a bounded amount of memory and is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Mapping
from typing import Any, Self

from gateway.contract.feed import LINE_LIMIT


class LineTooLongError(ValueError):
    """A message longer than LINE_LIMIT; nothing of it was sent."""


class Lines:
    """One end of a feed connection. One task reads; any task may write."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, write_s: float) -> None:
        """Use `Lines.over`."""
        self._reader = reader
        self._writer = writer
        self._write_s = write_s

    @classmethod
    async def over(cls, sock: socket.socket, *, write_s: float) -> Self:
        """Takes a connected socket, which is closed with the lines; `write_s` is the deadline of each write."""
        reader, writer = await asyncio.open_connection(sock=sock, limit=LINE_LIMIT)
        return cls(reader, writer, write_s)

    async def read(self) -> dict[str, Any]:
        """The next message. Raises ConnectionError when the stream ended or carries anything else."""
        return parsed(await self.read_line())

    async def read_line(self) -> bytes:
        """The next message as it came, for who reads it otherwise. Raises ConnectionError when the stream ended."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as fault:
            raise ConnectionError("the peer ended the feed") from fault
        except asyncio.LimitOverrunError as fault:
            raise ConnectionError(f"a line of the feed is too long: {fault}") from fault

    async def write(self, message: Mapping[str, Any]) -> None:
        """Sends a message and waits until the peer keeps up.

        Raises LineTooLongError, or ConnectionError when the peer is gone or did not read for `write_s` seconds.
        """
        await self.write_line(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    async def write_line(self, line: bytes) -> None:
        """The same with a message that is a line already, its end included."""
        if len(line) > LINE_LIMIT:
            raise LineTooLongError(f"a line of {len(line)} bytes is over the limit of {LINE_LIMIT}")
        self._writer.write(line)
        try:
            async with asyncio.timeout(self._write_s):
                await self._writer.drain()
        except TimeoutError as fault:
            raise ConnectionError(f"the peer did not read for {self._write_s} s") from fault

    async def close(self) -> None:
        """Ends the connection at once."""
        self._writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def parsed(line: bytes) -> dict[str, Any]:
    """The message of a line. Raises ConnectionError when it is none."""
    try:
        message = json.loads(line)
    except ValueError as fault:
        raise ConnectionError(f"a line of the feed is no JSON: {fault}") from fault
    if not isinstance(message, dict):
        raise ConnectionError("a line of the feed is no object")
    return message
