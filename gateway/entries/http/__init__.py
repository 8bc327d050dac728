"""The http and https entries, and the way to the console: listens, and serves each connection until it ends.

Read in this order: `conversation.py` (one connection), `admit.py` (who may pass), `hop.py` (sign-in),
`forward.py` and `passage.py` (a request to its upstream and back), `lane.py` (the short way of one like the last),
`errand.py` (the same on a connection of its own), `joint.py` (what follows a 101), `stream.py` (bytes), `answers.py`.
HTTP/2 is in the folder beside this one: it hands each stream to a conversation.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from dataclasses import dataclass
from typing import Final, Literal

from gateway.core import challenges
from gateway.core.refusals import Code, Refusal
from gateway.core.sniff import Speech
from gateway.entries import acme, tls
from gateway.entries.http.admit import Front
from gateway.entries.http.conversation import LINGER_S, Conversation
from gateway.entries.http.errand import HEAD_BYTES, Errand, Errands
from gateway.entries.http.joint import Joint
from gateway.entries.http.stream import Stream
from gateway.entries.http2 import connection as http2
from gateway.wire.gate import Gate
from gateway.wire.relay import watch_over

log = logging.getLogger(__name__)

SWEEP_S: Final = 1.0
SHUTDOWN_S: Final = 5.0
"""Seconds for a peer to answer the end of TLS."""
FAREWELL_S: Final = 0.5
SILENT_S: Final = 1
"""Seconds for which the kernel keeps a connection to itself while it says nothing: here the person speaks first."""
_ALPN: Final = ("h2", "http/1.1")
_ACCEPTS: Final = 64
_ACCEPT_PAUSE_S: Final = 0.2


_Served = Conversation | http2.Connection | Errand | Joint


async def serve(
    gate: Gate, listener: socket.socket, *, scheme: Literal["http", "https"], port: int, console: bool = False
) -> None:
    """Serves a listening socket until cancelled, then lets what runs end within `drain_s` seconds.

    `scheme` is `http` or `https`, `port` the public number of the listener, `console` marks the console's
    own port. The listener stays the caller's.
    """
    async with asyncio.TaskGroup() as group:
        await _Listener(Front(gate, scheme, port, console), group).run(listener)


@dataclass(frozen=True, slots=True)
class _Came:
    """A connection to be served: its first bytes when they were read already, and the errand that it was until now."""

    sock: socket.socket
    address: str
    early: bytes = b""
    errand: Errand | None = None


class _Listener:
    """Accepts for one listening socket. State: the conversations and errands that run on it."""

    def __init__(self, front: Front, group: asyncio.TaskGroup) -> None:
        self._front = front
        self._group = group
        self._contexts = tls.Contexts(front.gate.table, lambda record: tls.server_context(record, alpn=_ALPN))
        self._errands = Errands(front, self._go_on, self._disconnected)
        self._running: set[_Served] = set()
        self._on_over = self._over  # made once, for thousands of joints that rest
        self._draining = False
        self._met_backlog = False
        self._none_runs = asyncio.Event()
        self._paused: asyncio.TimerHandle | None = None

    async def run(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        watch_over(listener)  # connections inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, SILENT_S)
        sweeper = self._group.create_task(self._sweep())
        loop.add_reader(listener.fileno(), self._accept, listener)
        try:
            await loop.create_future()  # until cancelled
        finally:
            if self._paused is not None:
                self._paused.cancel()
            loop.remove_reader(listener.fileno())
            try:
                await self._drain()
            finally:  # also when the drain is cut short
                for joint in [one for one in self._running if isinstance(one, Joint)]:
                    self._left(joint)
                self._front.pool.clear()
                sweeper.cancel()

    def _accept(self, listener: socket.socket) -> None:
        """Takes the connections that wait, a few at a time so that those which run get their turn."""
        for _ in range(_ACCEPTS):
            try:
                sock, peer = listener.accept()
            except BlockingIOError:
                self._met_backlog = True
                return  # none is left, or a sibling process was faster
            except ConnectionAbortedError:
                return  # the peer is gone already
            except OSError as fault:
                self._pause(listener, fault)
                return
            sock.setblocking(False)
            if not self._met_backlog:
                watch_over(sock)  # it may have come before the listener was ours
            self._begin(sock, str(peer[0]).removeprefix("::ffff:"))

    def _begin(self, sock: socket.socket, address: str) -> None:
        """Runs an errand, where one may be asked for and its request is here already; else a conversation."""
        early = b""
        if self._front.lessons and self._front.scheme == "http":
            with contextlib.suppress(OSError):  # nothing has come, or the peer is gone: the conversation finds out
                early = sock.recv(HEAD_BYTES)
            errand = self._errands.begin(sock, address, early) if early else None
            if errand is not None:
                self._running.add(errand)
                self._front.gate.metrics.connected(self._front.scheme)
                return
        self._group.create_task(self._connection(_Came(sock, address, early)))

    def _go_on(self, errand: Errand) -> None:
        """An errand becomes a conversation."""
        self._group.create_task(self._connection(_Came(errand.sock, errand.address, errand.asked, errand)))

    def _disconnected(self, one: _Served) -> None:
        """It has ended."""
        self._front.gate.metrics.disconnected(self._front.scheme)
        self._running.discard(one)
        if not self._running:
            self._none_runs.set()

    def _pause(self, listener: socket.socket, fault: OSError) -> None:
        """Without free descriptors the listener would stay readable and the loop would spin."""
        log.warning("cannot accept: %s", fault)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listener.fileno())
        self._paused = loop.call_later(
            _ACCEPT_PAUSE_S, lambda: loop.add_reader(listener.fileno(), self._accept, listener)
        )

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_S)
            now = loop.time()
            self._front.pool.sweep()
            self._front.lessons.sweep(now)
            for conversation in list(self._running):
                conversation.sweep(now)

    async def _drain(self) -> None:
        """Lets what runs end; what is left at the deadline is cut with a sentence, and has a moment to pass it on."""
        self._draining = True
        self._errands.stop()
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

    async def _connection(self, came: _Came) -> None:
        """One connection's whole life: nothing that goes wrong in it reaches another."""
        try:
            stream, name, misplaced = await self._meet(came.sock)
        except BaseException as fault:
            came.sock.close()
            if came.errand is not None:
                self._errands.lose(came.errand)
            if not isinstance(fault, (OSError, ValueError, TimeoutError)):
                raise
            log.debug("no connection: %s", fault)
            self._front.gate.metrics.handshake_failed(self._front.scheme)
            return
        conversation: Conversation | http2.Connection
        if _speaks_http2(stream):
            conversation = http2.Connection(self._front, stream, server_name=name)
        else:
            conversation = self._conversation(came, stream, name, misplaced)
        self._running.add(conversation)
        if came.errand is not None:
            self._disconnected(came.errand)
        if self._draining:
            conversation.drain()
        self._front.gate.metrics.connected(self._front.scheme)
        joint = None
        try:
            joint = await conversation.run()
        except Exception:
            log.exception("a conversation failed")
        finally:
            if joint is None:
                self._disconnected(conversation)
        if joint is not None:
            self._running.add(joint)
            self._running.discard(conversation)
            joint.start(self._on_over)

    def _over(self, joint: Joint) -> None:
        """A joint needs no task until both its sides have ended."""
        parting = self._group.create_task(joint.part(LINGER_S))
        parting.add_done_callback(lambda _: self._left(joint))  # also when it is cancelled before it began

    def _left(self, joint: Joint) -> None:
        joint.leave()
        if joint in self._running:
            self._disconnected(joint)

    def _conversation(self, came: _Came, stream: Stream, name: str | None, misplaced: bool) -> Conversation:
        made = Conversation(self._front, stream, address=came.address, server_name=name, misplaced=misplaced)
        if came.early:
            stream.unread(came.early)
        if came.errand is not None:
            made.go_on(came.errand)
        return made

    async def _meet(self, sock: socket.socket) -> tuple[Stream, str | None, bool]:
        """The connection, through TLS on an https listener; the name TLS asked for; whether TLS is missing there."""
        loop, plain = asyncio.get_running_loop(), self._front.scheme == "http"
        stream = Stream(sock=sock if plain else None, accepted=True)
        if plain:
            await loop.connect_accepted_socket(lambda: stream, sock)
            return stream, None, False
        async with asyncio.timeout(tls.HANDSHAKE_S):
            greeting = await tls.greeting(sock)
            if greeting.speech is Speech.HTTP:
                await loop.connect_accepted_socket(lambda: stream, sock)
                return stream, None, True
            if greeting.hello is not None and challenges.is_validation(greeting.hello):
                await acme.validated(self._front.gate, sock, greeting.hello)
                raise ConnectionAbortedError("a certificate authority has looked")
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
