"""The frames of a shell or sftp stream over the socket that a bridge handed over.

Reading and writing are independent: one task may read while another writes. Both are bounded; a
writer waits while the job does not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from types import TracebackType
from typing import Any, Self

from gateway.contract.bridge import (
    FRAME_HEAD_BYTES,
    FRAME_LIMIT,
    FrameKind,
    decode_frame_head,
    encode_frame,
    encode_frame_json,
)


class Frames:
    """A stream of frames; an async context manager that closes its socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use `Frames.over`."""
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, sock: socket.socket) -> Self:
        """Takes the socket, which is closed with the frames."""
        reader, writer = await asyncio.open_connection(sock=sock, limit=FRAME_LIMIT)
        return cls(reader, writer)

    async def read(self) -> tuple[FrameKind, bytes] | None:
        """The next frame, or None at the end of the stream. Raises ConnectionError when it is cut or malformed."""
        try:
            kind, length = decode_frame_head(await self._reader.readexactly(FRAME_HEAD_BYTES))
            return kind, await self._reader.readexactly(length)
        except asyncio.IncompleteReadError as fault:
            if fault.partial or fault.expected != FRAME_HEAD_BYTES:
                raise ConnectionError("the stream ended within a frame") from fault
            return None
        except ValueError as fault:
            raise ConnectionError(f"the stream is malformed: {fault}") from fault

    async def write(self, kind: FrameKind, payload: bytes = b"") -> None:
        """Sends one frame (DATA and ERROR in as many as it takes) and waits until the peer keeps up.

        Raises ConnectionError when the peer is gone.
        """
        for start in range(0, max(len(payload), 1), FRAME_LIMIT):
            self._writer.write(encode_frame(kind, payload[start : start + FRAME_LIMIT]))
            await self._writer.drain()

    async def write_json(self, kind: FrameKind, **fields: Any) -> None:
        """Sends one frame whose payload is a JSON object: RESIZE (rows, cols) or SIGNAL (name)."""
        self._writer.write(encode_frame_json(kind, **fields))
        await self._writer.drain()

    def abort(self) -> None:
        """Ends the stream at once, what is unsent included. A read that waits gets the end."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Ends the stream."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):  # it may be broken already
            await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        """The frames themselves."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream."""
        await self.close()


def payload_of(payload: bytes) -> dict[str, Any]:
    """The JSON object of an EXIT, RESIZE or SIGNAL frame. Raises ConnectionError for anything else."""
    try:
        plain = json.loads(payload)
    except ValueError as fault:
        raise ConnectionError("a frame holds no JSON") from fault
    if not isinstance(plain, dict):
        raise ConnectionError("a frame holds no JSON object")
    return plain
