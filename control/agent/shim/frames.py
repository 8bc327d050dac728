"""Frames on a session's stream, as gateway/contract/bridge.py lays them down (the agent imports nothing of ours)."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from typing import Any, Final

DATA, ERROR, EOF, RESIZE, SIGNAL, EXIT = range(6)
FRAME_LIMIT: Final = 256 * 1024
_HEAD: Final = struct.Struct("!BI")


class Frames:
    """One end of a stream. Writes are whole frames, whoever calls; they wait while the other side is slow."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._sending = asyncio.Lock()

    async def read(self) -> tuple[int, bytes] | None:
        """The next frame, or None at the end of the stream. Raises ValueError for what is no frame."""
        head = await self._exactly(_HEAD.size)
        if not head:
            return None
        kind, length = _HEAD.unpack(head)
        if kind > EXIT or length > FRAME_LIMIT:
            raise ValueError(f"no frame: kind {kind}, {length} bytes")
        payload = await self._exactly(length)
        return None if payload is None else (kind, payload)

    async def write(self, kind: int, payload: bytes = b"") -> None:
        """Sends one frame. Raises OSError when the other side is gone."""
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._sock, _HEAD.pack(kind, len(payload)) + payload)

    async def write_json(self, kind: int, fields: dict[str, Any]) -> None:
        """Sends one frame whose payload is a JSON object."""
        await self.write(kind, json.dumps(fields).encode())

    async def _exactly(self, length: int) -> bytes | None:
        parts = bytearray()
        while len(parts) < length:
            part = await asyncio.get_running_loop().sock_recv(self._sock, length - len(parts))
            if not part:
                return None
            parts += part
        return bytes(parts)
