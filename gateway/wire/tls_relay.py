"""Moves bytes between a person's TLS and a plain socket until both directions have ended.

The promise of `relay.py`, through TLS: a close_notify becomes the app's FIN and the app's FIN a
close_notify, and the other direction goes on; a side that does not read stops the reading of the other;
a person's connection that ends without close_notify was cut, and is passed on as a reset, because half of
what they sent must not be taken for the whole (RFC 8446, 6.1). At most one read's worth waits per direction.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import Callable

from gateway.wire.relay import CHECK_S, Count, reset_on_close
from gateway.wire.secured import RECORDS_BYTES, Secured


async def relay_tls(person: Secured, app: socket.socket, *, count: Count) -> None:
    """Relays after the handshake; the caller closes both sockets afterwards. `count` is told content, not records.

    Returns when both directions have ended in order. Raises ConnectionError when a side broke off, having
    made the close of both a reset.
    """
    joint = _Joint(person, app, count)
    try:
        joint.start()
        await joint.done
    except OSError as fault:  # ssl.SSLError is one
        for side in (person.sock, app):
            reset_on_close(side)
        raise ConnectionError(f"a side broke off: {fault}") from fault
    finally:
        joint.stop()


class _Joint:
    """Both directions. State: what waits to be sent on either side, and which sides have ended."""

    def __init__(self, person: Secured, app: socket.socket, count: Count) -> None:
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._person = person
        self._app = app
        self._count = count
        self._to_app = memoryview(b"")
        self._to_person = memoryview(b"")
        self._app_told = False
        self._person_told = False
        self._app_ended = False
        self._lost = select.poll()
        for side in (person.sock, app):
            self._lost.register(side, 0)  # tells errors only
        self._armed: set[tuple[int, str]] = set()
        self._check: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._pass_to_app(self._person.opened())
        self._settle()

    def stop(self) -> None:
        for side in (self._person.sock, self._app):
            self._loop.remove_reader(side.fileno())
            self._loop.remove_writer(side.fileno())
        if self._check is not None:
            self._check.cancel()

    # What the loop tells.

    def _guarded(self, step: Callable[[], None]) -> None:
        if self.done.done():
            return
        try:
            step()
            self._settle()
            self._read_on()
        except (BlockingIOError, InterruptedError):
            return  # woken for nothing
        except OSError as fault:
            self.stop()
            if not self.done.done():
                self.done.set_exception(fault)

    def _read_on(self) -> None:
        """Reads on where libuv does not: it watches a socket no more once it has an error, though bytes wait there."""
        for descriptor, _ in self._lost.poll(0):
            read = self._read_app if descriptor == self._app.fileno() else self._read_person
            if (descriptor, "read") in self._armed:
                self._loop.call_soon(self._guarded, read)

    def _read_person(self) -> None:
        records = self._person.sock.recv(RECORDS_BYTES)
        if records:
            self._pass_to_app(self._person.feed(records))
        elif self._person_told:
            # Told that nothing more comes, many clients hang up without a word: no fault, yet no whole either.
            self._person.ended = self._app_told = True
            reset_on_close(self._app)
        else:
            raise ConnectionResetError("the person's side was cut: no close_notify")

    def _read_app(self) -> None:
        content = self._app.recv(RECORDS_BYTES)
        if content:
            self._count(0, len(content))
            self._person.seal(content)
        else:
            self._app_ended = True

    def _pass_to_app(self, content: bytes) -> None:
        if content:
            self._count(len(content), 0)
            self._to_app = memoryview(content)

    # What follows from it.

    def _settle(self) -> None:
        """Sends what can be sent, passes ends on, and listens to each side exactly while the other has room."""
        self._send_to_app()
        self._send_to_person()
        has_room = not self._to_app and self._person.waiting_bytes() < RECORDS_BYTES
        self._listen(self._person.sock, self._read_person, has_room and not self._person.ended)
        self._listen(self._app, self._read_app, not self._to_person and not self._app_ended)
        self._watch(self._app, self._send_to_app, bool(self._to_app))
        self._watch(self._person.sock, self._send_to_person, bool(self._to_person))
        if self._app_told and self._person_told and not self._to_person:
            if not self.done.done():
                self.done.set_result(None)
        elif (self._app_told or self._person_told) and self._check is None:
            self._check_later()

    def _send_to_app(self) -> None:
        if self._to_app:
            self._to_app = self._to_app[_send(self._app, self._to_app) :]
        if not self._to_app and self._person.ended and not self._app_told:
            self._app_told = True
            self._app.shutdown(socket.SHUT_WR)

    def _send_to_person(self) -> None:
        if not self._to_person:
            if self._app_ended and not self._person_told:
                self._person_told = True
                self._person.end()
            self._to_person = memoryview(self._person.sealed())
        if self._to_person:
            self._to_person = self._to_person[_send(self._person.sock, self._to_person) :]

    def _listen(self, side: socket.socket, read: Callable[[], None], wanted: bool) -> None:
        mark = (side.fileno(), "read")
        if wanted and mark not in self._armed:
            self._armed.add(mark)
            self._loop.add_reader(side.fileno(), self._guarded, read)
        elif not wanted and mark in self._armed:
            self._armed.discard(mark)
            self._loop.remove_reader(side.fileno())

    def _watch(self, side: socket.socket, send: Callable[[], None], wanted: bool) -> None:
        mark = (side.fileno(), "write")
        if wanted and mark not in self._armed:
            self._armed.add(mark)
            self._loop.add_writer(side.fileno(), self._guarded, send)
        elif not wanted and mark in self._armed:
            self._armed.discard(mark)
            self._loop.remove_writer(side.fileno())

    def _check_later(self) -> None:
        self._check = self._loop.call_later(CHECK_S, self._guarded, self._look_for_a_reset)

    def _look_for_a_reset(self) -> None:
        """A side that ended is read no more; without this a later reset of it would pass unnoticed."""
        for side in (self._person.sock, self._app):
            number = side.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if number:
                raise OSError(number, os.strerror(number))
        self._check_later()


def _send(sink: socket.socket, data: memoryview) -> int:
    try:
        return sink.send(data)
    except (BlockingIOError, InterruptedError):
        return 0
