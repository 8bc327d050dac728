"""One call over a Unix socket, with descriptors on the answer: how the houses hand each other sockets.

SOCK_SEQPACKET keeps a message and its descriptors together; asyncio's streams drop descriptors, so
both ends read with recvmsg on the loop. One connection carries one request and one reply.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from gateway.contract.bridge import MESSAGE_LIMIT

_PEER: Final = struct.Struct("3i")
_RETRY_S: Final = 0.01
_DESCRIPTORS: Final = 4


@dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED)."""

    pid: int
    uid: int
    gid: int


Answer = tuple[bytes, Sequence[int]]
"""A reply and the descriptors that ride on it; whoever sends it closes its own copies afterwards."""
Handler = Callable[[bytes, Peer], Awaitable[Answer]]


async def call(path: str, message: bytes, *, deadline_s: float) -> tuple[bytes, list[int]]:
    """Sends `message` to the socket at `path` and returns its answer with the descriptors, now the caller's.

    Raises TimeoutError past the deadline and ConnectionError when nobody listens or the peer ends
    without an answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as sock:
        async with asyncio.timeout(deadline_s):
            await _connect(sock, path)
            await _ready(sock, write=True)
            sock.send(message)
            reply, descriptors = await _receive(sock)
        if not reply:
            raise ConnectionError("the peer ended the call without an answer")
        return reply, descriptors


async def serve(listener: socket.socket, handler: Handler, *, deadline_s: float) -> None:
    """Answers calls on a listening SOCK_SEQPACKET socket until cancelled. Each call has `deadline_s` seconds.

    The handler gets the request and the peer; what it raises ends that one call without an answer.
    """
    listener.setblocking(False)
    async with asyncio.TaskGroup() as calls:
        while True:
            await _ready(listener)
            try:
                sock, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue  # a sibling that holds the same listener was faster
            calls.create_task(_answer(sock, handler, deadline_s))


def listen(path: str, *, mode: int = 0o600, kind: int = socket.SOCK_SEQPACKET) -> socket.socket:
    """A listening Unix socket at `path`, in place of whatever lay there. Paths may be of any length."""
    sock = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
    with short_path(path) as short:
        if os.path.lexists(short):
            os.unlink(short)
        sock.bind(short)
        os.chmod(short, mode)
    sock.listen(1024)
    return sock


@contextmanager
def short_path(path: str) -> Iterator[str]:
    """The same path through its open directory: a Unix socket address ends at 107 bytes."""
    directory, name = os.path.split(path)
    opened = os.open(directory or ".", os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{name}"
    finally:
        os.close(opened)


def peer_of(sock: socket.socket) -> Peer:
    """The process at the other end of a connected Unix socket."""
    return Peer(*_PEER.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)))


async def _answer(sock: socket.socket, handler: Handler, deadline_s: float) -> None:
    with sock:
        sock.setblocking(False)
        try:
            async with asyncio.timeout(deadline_s):
                message, unwanted = await _receive(sock)
                _close_all(unwanted)
                if not message:
                    return
                reply, descriptors = await handler(message, peer_of(sock))
                try:
                    await _ready(sock, write=True)
                    socket.send_fds(sock, [reply], descriptors)
                finally:
                    _close_all(descriptors)
        except (TimeoutError, OSError, ValueError):
            return  # the caller sees the connection end; its own deadline and log say the rest


async def _connect(sock: socket.socket, path: str) -> None:
    # A full backlog is EAGAIN on a Unix socket, which asyncio's sock_connect would take for "in progress".
    while True:
        with short_path(path) as short:
            try:
                sock.connect(short)
                return
            except BlockingIOError:
                pass
        await asyncio.sleep(_RETRY_S)


async def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    while True:
        await _ready(sock)
        try:
            message, descriptors, flags, _ = socket.recv_fds(sock, MESSAGE_LIMIT, _DESCRIPTORS)
        except BlockingIOError:
            continue
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            _close_all(descriptors)
            raise ConnectionError("a message or its descriptors were cut short")
        return message, descriptors


async def _ready(sock: socket.socket, *, write: bool = False) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    watch, unwatch = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)

    def wake() -> None:
        if not ready.done():
            ready.set_result(None)

    watch(sock.fileno(), wake)
    try:
        await ready
    finally:
        unwatch(sock.fileno())


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
