"""Accepts SSH connections on one listener and, in the end, lets them go on for a while."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from typing import Final

import asyncssh

from gateway.core.refusals import Code, Refusal, sentence
from gateway.entries.ssh.connection import Arrival, House, attend
from gateway.entries.ssh.doorstep import Doorstep
from gateway.entries.ssh.home_keys import HomeKeys
from gateway.entries.ssh.host_keys import Handshake
from gateway.wire.gate import Gate

log = logging.getLogger(__name__)

_RETRY_S: Final = 0.2
_LAST_WORDS_S: Final = 1.0
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


async def serve(gate: Gate, listener: socket.socket, *, port: int) -> None:
    """Serves a listening socket until cancelled; `port` is the one that people see.

    On the fixed ssh port people choose among their jobs; any other is the random port of one entry.
    Cancelled, it accepts no more, waits up to `drain_s` seconds for channels to end, and then ends
    the connections that are left. The listener stays open.
    """
    logging.getLogger("asyncssh").setLevel(logging.WARNING)  # below, it logs commands and names of files
    house = House(gate, Handshake(), Doorstep(), HomeKeys(gate), set())
    entry_port = None if port == gate.config.ssh_port else port
    connections: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        try:
            while True:
                sock, address = await _accept(listener)
                task = group.create_task(_attend(house, sock, Arrival(address, entry_port)))
                connections.add(task)
                task.add_done_callback(connections.discard)
        except asyncio.CancelledError:
            await _drain(house, connections)
            raise


async def _accept(listener: socket.socket) -> tuple[socket.socket, str]:
    """The next connection and where it comes from."""
    listener.setblocking(False)
    while True:
        try:
            sock, address = await asyncio.get_running_loop().sock_accept(listener)
            return sock, address[0].removeprefix("::ffff:")  # IPv4 on an IPv6 socket, RFC 4291 section 2.5.5.2
        except OSError as fault:
            if fault.errno in _EXHAUSTED:
                log.warning("cannot accept: %s", fault)
                await asyncio.sleep(_RETRY_S)


async def _attend(house: House, sock: socket.socket, arrival: Arrival) -> None:
    """One connection; whatever goes wrong in it, the others go on."""
    try:
        with house.gate.metrics.connection("ssh"):
            await attend(house, sock, arrival)
    except Exception:
        log.exception("connection from %s failed", arrival.address)


async def _drain(house: House, connections: set[asyncio.Task[None]]) -> None:
    """Ends connections as their last channel ends, until all are gone or the patience is."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + house.gate.config.drain_s + _LAST_WORDS_S
    said = sentence(Refusal(Code.RESTARTING), "en")
    while connections and loop.time() < deadline:
        for connection in [one for one in house.live if one.channel_count == 0]:
            connection.disconnect(asyncssh.DISC_BY_APPLICATION, said)
        await asyncio.wait(connections, timeout=_RETRY_S)
