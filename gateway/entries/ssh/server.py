"""Accepts SSH connections on one listener and, in the end, lets them go on for a while."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from typing import Final

import asyncssh

from gateway.entries.ssh.connection import Arrival, attend
from gateway.entries.ssh.doorstep import Doorstep
from gateway.entries.ssh.host_keys import Handshake
from gateway.wire.gate import Gate

log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2
_LAST_WORDS_S: Final = 1.0
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


async def serve(gate: Gate, listener: socket.socket, *, port: int) -> None:
    """Serves a listening socket until cancelled; `port` is the one that people see.

    On the fixed ssh port people choose among their jobs; any other is the random port of one entry.
    Cancelled, it accepts no more, waits up to `drain_s` seconds for connections to end, and then
    ends them with a message. The listener stays open.
    """
    logging.getLogger("asyncssh").setLevel(logging.WARNING)  # below, it logs commands and names of files
    connections: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        try:
            await _accept(gate, listener, None if port == gate.config.ssh_port else port, group, connections)
        except asyncio.CancelledError:
            if connections:
                await asyncio.wait(connections, timeout=gate.config.drain_s + _LAST_WORDS_S)
            raise


async def _accept(
    gate: Gate,
    listener: socket.socket,
    entry_port: int | None,
    group: asyncio.TaskGroup,
    connections: set[asyncio.Task[None]],
) -> None:
    loop, handshake, doorstep = asyncio.get_running_loop(), Handshake(), Doorstep()
    listener.setblocking(False)
    while True:
        try:
            sock, address = await loop.sock_accept(listener)
        except OSError as fault:
            if fault.errno in _EXHAUSTED:
                log.warning("cannot accept: %s", fault)
                await asyncio.sleep(_RETRY_S)
            continue
        arrival = Arrival(_plain(address[0]), entry_port)
        task = group.create_task(_attend(gate, sock, arrival, handshake, doorstep))
        connections.add(task)
        task.add_done_callback(connections.discard)


async def _attend(gate: Gate, sock: socket.socket, arrival: Arrival, handshake: Handshake, doorstep: Doorstep) -> None:
    """One connection; whatever goes wrong in it, the others go on."""
    try:
        with sock:
            options = await handshake.options(gate.table.secrets("ssh-host"))
            await attend(gate, sock, arrival, options, doorstep)
    except (OSError, ValueError, asyncssh.Error) as fault:
        log.warning("connection from %s: %s", arrival.address, fault)
    except Exception:
        log.exception("connection from %s failed", arrival.address)


def _plain(address: str) -> str:
    """The address without the clothes that IPv4 wears on an IPv6 socket (RFC 4291 section 2.5.5.2)."""
    return address.removeprefix("::ffff:")
