"""Answers the bridge on shim.sock, in the form of gateway/contract/bridge.py (the agent imports nothing of ours).

One connection is one call: a JSON message, a JSON answer with its descriptors, the end. An old shim
outlives an upgrade of the platform: what it does not know it refuses, it never guesses.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from .waiting import readable

VERSION: Final = 1
MESSAGE_LIMIT: Final = 64 * 1024
_CALL_S: Final = 30.0
_PEER: Final = struct.Struct("3i")


class Refused(Exception):
    """The call's answer is no: `code` is one of the contract's faults, the message is for the log."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


Answer = tuple[dict[str, Any], list[int]]
"""A result, and descriptors that the caller of the handler sends and closes."""
Handler = Callable[[str, dict[str, Any]], Awaitable[Answer]]


def listen(directory: Path) -> socket.socket:
    """Listens on shim.sock in the directory, however long its path: a socket's address ends at 107 bytes."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    opened = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        (directory / "shim.sock").unlink(missing_ok=True)
        sock.bind(f"/proc/self/fd/{opened}/shim.sock")
    finally:
        os.close(opened)
    sock.listen(128)
    return sock


async def serve(listener: socket.socket, handler: Handler, group: asyncio.TaskGroup) -> None:
    """Answers calls until cancelled; each runs in a task of `group`."""
    while True:
        await readable(listener.fileno())
        with suppress(BlockingIOError, ConnectionAbortedError):
            sock, _ = listener.accept()
            group.create_task(_answer(sock, handler))


async def _answer(sock: socket.socket, handler: Handler) -> None:
    with sock, suppress(OSError, TimeoutError):
        sock.setblocking(False)
        if _PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))[1] not in (0, os.getuid()):
            return
        async with asyncio.timeout(_CALL_S):
            message = await asyncio.get_running_loop().sock_recv(sock, MESSAGE_LIMIT)
            answer, descriptors = await _handle(message, handler)
            try:
                socket.send_fds(sock, [json.dumps({"v": VERSION, **answer}).encode()], descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)


async def _handle(message: bytes, handler: Handler) -> Answer:
    try:
        call = json.loads(message)
        if call.get("v") != VERSION:
            raise Refused("unsupported", f"this shim speaks version {VERSION}")
        result, descriptors = await handler(str(call["verb"]), dict(call.get("args") or {}))
    except Refused as refused:
        return {"ok": False, "code": refused.code, "detail": str(refused)}, []
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        return {"ok": False, "code": "bad_request", "detail": f"{type(fault).__name__}: {fault}"}, []
    except Exception as fault:  # the job outlives a call that fails
        traceback.print_exc()
        return {"ok": False, "code": "failed", "detail": f"{type(fault).__name__}: {fault}"}, []
    return {"ok": True, "result": result}, descriptors
