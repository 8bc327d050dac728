"""tcp entries: accept, learn who comes, decide, dial, relay.

An entry of level open on a port of its own is plain: who speaks first, and who ends first, is up to the
two ends; nothing is read ahead and each half-close is passed on. On the fixed port, and wherever the
level is not open, the client speaks TLS (`tcp_tls.py`): nothing else tells which entry is meant, or who comes.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from typing import Final, Never

from gateway.contract.routes import Entry, Level, Protocol
from gateway.core.decide import Admission
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import ANONYMOUS, Visitor
from gateway.entries.tcp_tls import Find, Reception, RefusedError
from gateway.wire import dial, journal
from gateway.wire.gate import Gate
from gateway.wire.relay import relay, reset_on_close, watch_over
from gateway.wire.secured import Secured
from gateway.wire.tls_relay import relay_tls

log = logging.getLogger(__name__)

_FULL: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FULL_PAUSE_S: Final = 0.1


async def serve(gate: Gate, listener: socket.socket, *, port: int) -> Never:
    """Serves the fixed tcp port, or a tcp entry on a random one; the listener stays the caller's.

    Runs until cancelled; then accepts no more, lets open visits go on for `drain_s`, and ends.
    """
    reception = Reception(gate.table)
    visits: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        try:
            while True:
                sock, address = await _accept(listener)
                visit = group.create_task(_serve_one(gate, reception, sock, str(address[0]), port))
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


async def _serve_one(gate: Gate, reception: Reception, sock: socket.socket, address: str, port: int) -> None:
    with sock, gate.metrics.connection("tcp"):
        try:
            sock.setblocking(False)
            if port == gate.config.tcp_port:
                await _secured(gate, reception, sock, address, port)
            else:
                await _on_its_own_port(gate, reception, sock, address, port)
        except RefusedError as refused:
            gate.metrics.refused("tcp", refused.refusal.code)
            journal.refused(refused.entry, refused.refusal, protocol="tcp", address=address)
        except (ssl.SSLError, ValueError) as fault:
            gate.metrics.handshake_failed("tcp")
            reset_on_close(sock)
            log.debug("port %d: no TLS: %s", port, fault)
        except (ConnectionError, TimeoutError) as fault:
            reset_on_close(sock)
            log.debug("port %d: %s", port, fault)  # the journal has told it, or nobody came in
        except (OSError, dial.DialFault) as fault:
            reset_on_close(sock)
            log.info("port %d: %s", port, fault)
        except asyncio.CancelledError:
            reset_on_close(sock)  # cut: never to be taken for an orderly end
            raise
        except Exception:  # one visit's fault ends that visit
            reset_on_close(sock)
            log.exception("port %d: a visit failed", port)


async def _on_its_own_port(gate: Gate, reception: Reception, sock: socket.socket, address: str, port: int) -> None:
    entry = gate.table.entry_by_port(port)
    if entry is None or entry.protocol is not Protocol.TCP:
        raise RefusedError(Refusal(Code.UNKNOWN_HOST), entry)
    if entry.level is not Level.OPEN:
        await _secured(gate, reception, sock, address, port)
        return
    admission = _admit(gate, entry, ANONYMOUS, address)
    if isinstance(admission, Refusal):
        raise RefusedError(admission, entry)
    await _visit(gate, sock, address, admission)


async def _secured(gate: Gate, reception: Reception, sock: socket.socket, address: str, port: int) -> None:
    met = await reception.meet(sock, _finder(gate, port))
    admission = _admit(gate, met.entry, met.visitor, address)
    if isinstance(admission, Refusal):
        await met.refuse(admission)
        raise RefusedError(admission, met.entry)
    try:
        await _visit(gate, met.secured, address, admission)
    except dial.DialFault as fault:
        log.info("port %d: %s", port, fault)
        await met.refuse(fault.refusal)


def _finder(gate: Gate, port: int) -> Find:
    """Which entry a TLS client means: by the name it asks for on the fixed port, else by the port."""
    if port == gate.config.tcp_port:
        return lambda name: None if name is None else gate.table.entry_by_host(name, port)
    return lambda _: gate.table.entry_by_port(port)


def _admit(gate: Gate, entry: Entry, visitor: Visitor, address: str) -> Admission | Refusal:
    decision = gate.decide(entry, visitor)
    if isinstance(decision, Admission):
        return gate.room(entry, address) or decision
    return decision if isinstance(decision, Refusal) else Refusal(Code.NEEDS_CERTIFICATE)


async def _visit(gate: Gate, person: socket.socket | Secured, address: str, admission: Admission) -> None:
    """One visit, plain or through TLS. Raises ConnectionError when a side broke off, and DialFault."""
    mine = asyncio.current_task()
    assert mine is not None
    sock, protocol = (person.sock, "tls") if isinstance(person, Secured) else (person, "tcp")
    async with gate.visits.open(admission, protocol, address, cut=lambda _: mine.cancel()) as visit:
        watch_over(sock)
        try:
            upstream = await dial.connect(admission, bridge=gate.bridge, deadline_s=gate.config.dial_s)
        except dial.DialFault as fault:
            visit.reason = fault.refusal.code
            raise
        with upstream:
            try:
                if isinstance(person, Secured):
                    await relay_tls(person, upstream, count=visit.count)
                else:
                    await relay(sock, upstream, count=visit.count)
            except ConnectionError:
                visit.reason = "reset"
                raise
