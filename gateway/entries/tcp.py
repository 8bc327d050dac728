"""Plain tcp entries on random ports: accept, decide, dial, relay.

A plain port cannot tell who comes, so that only the level open is served; anybody at another level
is refused by closing, with a journal line. Who speaks first, and who ends first, is up to the two
ends: nothing is read ahead and each half-close is passed on.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from typing import Final, Never

from gateway.contract.routes import Entry, Protocol
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import ANONYMOUS
from gateway.wire import dial, journal
from gateway.wire.gate import Gate
from gateway.wire.relay import relay, reset_on_close, watch_over

log = logging.getLogger(__name__)

_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FULL_PAUSE_S: Final = 0.1


async def serve(gate: Gate, listener: socket.socket, *, port: int) -> Never:
    """Serves the tcp entry on a random port; the listener stays the caller's.

    Runs until cancelled; then accepts no more, lets open visits go on for `drain_s`, and ends.
    """
    visits: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        try:
            while True:
                sock, address = await _accept(listener)
                visit = group.create_task(_serve_one(gate, sock, str(address[0]), port))
                visits.add(visit)
                visit.add_done_callback(visits.discard)
        except asyncio.CancelledError:
            if visits:
                await asyncio.wait(visits, timeout=gate.config.drain_s)
            raise


async def _accept(listener: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
    loop = asyncio.get_running_loop()
    while True:
        try:
            return await loop.sock_accept(listener)
        except OSError as fault:
            if fault.errno in _FULL:  # the clients wait in the backlog until a visit has ended
                log.warning("cannot accept: %s", fault.strerror)
                await asyncio.sleep(_FULL_PAUSE_S)


async def _serve_one(gate: Gate, sock: socket.socket, address: str, port: int) -> None:
    with sock:
        try:
            entry = gate.table.entry_by_port(port)
            admission = _admit(gate, entry)
            if isinstance(admission, Refusal):
                journal.refused(entry, admission, protocol="tcp", address=address)
            else:
                await _visit(gate, sock, address, admission)
        except ConnectionError as fault:
            reset_on_close(sock)
            log.debug("port %d: %s", port, fault)  # the journal has told it
        except (OSError, dial.DialFault) as fault:
            reset_on_close(sock)
            log.info("port %d: %s", port, fault)
        except asyncio.CancelledError:
            reset_on_close(sock)  # cut: never to be taken for an orderly end
            raise
        except Exception:  # one visit's fault ends that visit
            reset_on_close(sock)
            log.exception("port %d: a visit failed", port)


def _admit(gate: Gate, entry: Entry | None) -> Admission | Refusal:
    if entry is None or entry.protocol is not Protocol.TCP:
        return Refusal(Code.UNKNOWN_HOST)
    if len(gate.visits) >= gate.config.visits_limit:
        return Refusal(Code.BUSY)
    decision = gate.decide(entry, ANONYMOUS)
    return decision if isinstance(decision, Admission | Refusal) else Refusal(Code.NEEDS_TLS)


async def _visit(gate: Gate, sock: socket.socket, address: str, admission: Admission) -> None:
    mine = asyncio.current_task()
    assert mine is not None
    async with gate.visits.open(admission, "tcp", address, cut=lambda _: mine.cancel()) as visit:
        watch_over(sock)
        try:
            upstream = await dial.connect(admission, bridge=gate.bridge, deadline_s=gate.config.dial_s)
        except dial.DialFault as fault:
            visit.reason = fault.refusal.code
            raise
        with upstream:
            try:
                await relay(sock, upstream, count=visit.count)
            except ConnectionError:
                visit.reason = "reset"
                raise
