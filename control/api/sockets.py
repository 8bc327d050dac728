"""WebSockets that only speak: how they begin, end, and never outlive their reader or the process.

Holds state: the open sockets of the application, closed with 1012 ("come back") when it shuts down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import WSCloseCode, web

from control.api.asked import Asked
from control.api.credentials import SOCKET_PROTOCOL
from control.domain.errors import Code, ProblemError, problem

log = logging.getLogger(__name__)


SIGN_IN_AGAIN: Final = 4401
"""The close code when the sign-in behind the socket has ended."""
REFUSED: Final = 4403
_HEARTBEAT_S: Final = 20.0
_SEND_S: Final = 10.0
_HEARD_BYTES: Final = 4096
_CLOSE_S: Final = 3.0


class OpenSockets:
    """The sockets that are open now."""

    def __init__(self) -> None:
        self._open: set[web.WebSocketResponse] = set()

    @contextmanager
    def holding(self, socket: web.WebSocketResponse) -> Iterator[None]:
        """Counts `socket` among the open ones for as long as the block runs."""
        self._open.add(socket)
        try:
            yield
        finally:
            self._open.discard(socket)

    async def close(self, _app: web.Application) -> None:
        """Closes all of them with the word to come back."""
        closing = [socket.close(code=WSCloseCode.SERVICE_RESTART) for socket in self._open]
        await asyncio.gather(*closing, return_exceptions=True)


SOCKETS: Final = web.AppKey("sockets", OpenSockets)


class SlowReaderError(Exception):
    """The reader took nothing for too long; it comes back and asks from where it stopped."""


class Channel:
    """The speaking end of a socket. Every send has a deadline, so that a reader that stopped holds nothing up.

    A speaker is never cancelled, because it may stand in the middle of a database operation: when the reader
    leaves, its pauses end at once and `has_left` is true.
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._left = asyncio.Event()
        self._wake: Callable[[], None] = lambda: None

    @property
    def has_left(self) -> bool:
        """Whether the reader is gone: the speaker ends."""
        return self._left.is_set()

    async def pause(self, seconds: float) -> None:
        """Waits, until the reader leaves at the longest."""
        try:
            async with asyncio.timeout(seconds):
                await self._left.wait()
        except TimeoutError:
            pass

    def when_left(self, wake: Callable[[], None]) -> None:
        """Has `wake` called when the reader leaves: for a speaker that waits for something else."""
        self._wake = wake

    def leave(self) -> None:
        """The reader is gone."""
        self._left.set()
        self._wake()

    async def say(self, message: str) -> None:
        """Sends one text."""
        await self._within(self._socket.send_str(message))

    async def pour(self, chunk: bytes) -> None:
        """Sends bytes."""
        await self._within(self._socket.send_bytes(chunk))

    async def end(self, code: int, reason: str = "") -> None:
        """Closes the socket with a code and a word."""
        await self._socket.close(code=code, message=reason.encode())

    async def _within(self, sending: Awaitable[None]) -> None:
        try:
            async with asyncio.timeout(_SEND_S):
                await sending
        except TimeoutError:
            raise SlowReaderError from None


async def serve_socket(asked: Asked, speak: Callable[[Channel], Awaitable[None]]) -> web.WebSocketResponse:
    """Upgrades the request and runs `speak` until it is done or the other side leaves. What it hears is ignored."""
    socket = web.WebSocketResponse(
        protocols=(SOCKET_PROTOCOL,), heartbeat=_HEARTBEAT_S, max_msg_size=_HEARD_BYTES, timeout=_CLOSE_S
    )
    if not socket.can_prepare(asked.request).ok:
        raise problem(Code.MALFORMED, why="not a WebSocket request")
    await socket.prepare(asked.request)
    with asked.request.app[SOCKETS].holding(socket):
        async with asyncio.TaskGroup() as group:
            channel = Channel(socket)
            group.create_task(_speak(socket, channel, speak))
            async for _ in socket:
                pass
            channel.leave()
    return socket


async def _speak(socket: web.WebSocketResponse, channel: Channel, speak: Callable[[Channel], Awaitable[None]]) -> None:
    try:
        await speak(channel)
        await socket.close()
    except SlowReaderError:
        await socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
    except ProblemError as refusal:
        await socket.close(code=REFUSED, message=refusal.problem.code.value.encode())
    except (ConnectionResetError, RuntimeError):
        return  # the other side left while we spoke (aiohttp says either)
    except Exception:
        log.exception("a socket failed")
        await socket.close(code=WSCloseCode.INTERNAL_ERROR)
