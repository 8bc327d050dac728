"""The http and https entries, and the way to the console: listens, and serves each connection until it ends.

Read in this order: `conversation.py` (one connection), `admit.py` (who may pass), `hop.py` (sign-in),
`forward.py` and `passage.py` (a request to its upstream and back), `lane.py` (the short way of one like the last),
`stream.py` (bytes), `answers.py`. HTTP/2 is in the folder beside this one: it hands each stream to a conversation.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Final, Literal

from gateway.core.refusals import Code, Refusal
from gateway.core.sniff import Speech
from gateway.entries import tls
from gateway.entries.http.admit import Front
from gateway.entries.http.conversation import Conversation
from gateway.entries.http.stream import Stream
from gateway.entries.http2 import connection as http2
from gateway.wire.gate import Gate

log = logging.getLogger(__name__)

SWEEP_S: Final = 1.0
SHUTDOWN_S: Final = 5.0
"""Seconds for a peer to answer the end of TLS."""
FAREWELL_S: Final = 0.5
_ALPN: Final = ("h2", "http/1.1")
_ACCEPTS: Final = 64
_ACCEPT_PAUSE_S: Final = 0.2


async def serve(
    gate: Gate, listener: socket.socket, *, scheme: Literal["http", "https"], port: int, console: bool = False
) -> None:
    """Serves a listening socket until cancelled, then lets what runs end within `drain_s` seconds.

    `scheme` is `http` or `https`, `port` the public number of the listener, `console` marks the console's
    own port. The listener stays the caller's.
    """
    await _Listener(Front(gate, scheme, port, console)).run(listener)


class _Listener:
    """Accepts for one listening socket. State: the conversations that run on it."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._contexts = tls.Contexts(front.gate.table, lambda record: tls.server_context(record, alpn=_ALPN))
        self._running: set[Conversation | http2.Connection] = set()
        self._none_runs = asyncio.Event()
        self._paused: asyncio.TimerHandle | None = None

    async def run(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        async with asyncio.TaskGroup() as group:
            sweeper = group.create_task(self._sweep())
            loop.add_reader(listener.fileno(), self._accept, listener, group)
            try:
                await loop.create_future()  # until cancelled
            finally:
                if self._paused is not None:
                    self._paused.cancel()
                loop.remove_reader(listener.fileno())
                await self._drain()
                self._front.pool.clear()
                sweeper.cancel()

    def _accept(self, listener: socket.socket, group: asyncio.TaskGroup) -> None:
        """Takes the connections that wait, a few at a time so that those which run get their turn."""
        for _ in range(_ACCEPTS):
            try:
                sock, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return  # none is left, a sibling process was faster, or the peer is gone already
            except OSError as fault:
                self._pause(listener, group, fault)
                return
            sock.setblocking(False)
            group.create_task(self._connection(sock))

    def _pause(self, listener: socket.socket, group: asyncio.TaskGroup, fault: OSError) -> None:
        """Without free descriptors the listener would stay readable and the loop would spin."""
        log.warning("cannot accept: %s", fault)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener.fileno())
        self._paused = loop.call_later(
            _ACCEPT_PAUSE_S, lambda: loop.add_reader(listener.fileno(), self._accept, listener, group)
        )

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            now = loop.time()
            self._front.pool.sweep()
            for conversation in list(self._running):
                conversation.sweep(now)

    async def _drain(self) -> None:
        """Lets what runs end; what is left at the deadline is cut with a sentence, and has a moment to pass it on."""
        for conversation in list(self._running):
            conversation.drain()
        if not await self._ended(self._front.gate.config.drain_s):
            for conversation in list(self._running):
                conversation.cut(Refusal(Code.RESTARTING))
            await self._ended(FAREWELL_S)

    async def _ended(self, deadline_s: float) -> bool:
        """Whether nothing runs any more, at the latest after `deadline_s` seconds.

        Runs in a task that was cancelled, where CPython 3.11.2's asyncio.timeout does not work.
        """
        if self._running:
            self._none_runs.clear()
            alarm = asyncio.get_running_loop().call_later(deadline_s, self._none_runs.set)
            await self._none_runs.wait()
            alarm.cancel()
        return not self._running

    async def _connection(self, sock: socket.socket) -> None:
        """One connection's whole life: nothing that goes wrong in it reaches another."""
        try:
            stream, name, misplaced = await self._meet(sock)
        except (OSError, ValueError, TimeoutError) as fault:
            log.debug("no connection: %s", fault)
            self._front.gate.metrics.handshake_failed(self._front.scheme)
            sock.close()
            return
        conversation: Conversation | http2.Connection
        if _speaks_http2(stream):
            conversation = http2.Connection(self._front, stream, server_name=name)
        else:
            conversation = Conversation(self._front, stream, server_name=name, misplaced=misplaced)
        self._running.add(conversation)
        try:
            with self._front.gate.metrics.connection(self._front.scheme):
                await conversation.run()
        except Exception:
            log.exception("a conversation failed")
        finally:
            self._running.discard(conversation)
            if not self._running:
                self._none_runs.set()

    async def _meet(self, sock: socket.socket) -> tuple[Stream, str | None, bool]:
        """The connection, through TLS on an https listener; the name TLS asked for; whether TLS is missing there."""
        loop, stream = asyncio.get_running_loop(), Stream()
        if self._front.scheme == "http":
            await loop.connect_accepted_socket(lambda: stream, sock)
            return stream, None, False
        async with asyncio.timeout(tls.HANDSHAKE_S):
            greeting = await tls.greeting(sock)
            if greeting.speech is Speech.HTTP:
                await loop.connect_accepted_socket(lambda: stream, sock)
                return stream, None, True
            context = self._contexts.find(greeting.server_name)
            if context is None:
                raise ssl.SSLError("there is no certificate yet")
            await loop.connect_accepted_socket(
                lambda: stream,
                sock,
                ssl=context,
                ssl_handshake_timeout=tls.HANDSHAKE_S,
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        return stream, greeting.server_name, False


def _speaks_http2(stream: Stream) -> bool:
    """Whether the peer and we chose HTTP/2 in the handshake (RFC 7301); never by what it sends."""
    tls_object = stream.transport.get_extra_info("ssl_object")
    return tls_object is not None and tls_object.selected_alpn_protocol() == "h2"
