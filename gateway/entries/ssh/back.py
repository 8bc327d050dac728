"""The way back: what a job's programs connect to and the client answers (`ssh -R`, its agent, its X display).

The sockets listen inside the job, where the bridge made them; the connections that come to them are
accepted here, each gets a channel to the client, and none waits for another. A listener is a visit
of its own and ends with it; told to close, it lets the connections that it has go on. Each of these
is a visit, too: there is room for as many as for connections the other way.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self

import asyncssh
from asyncssh.packet import String, UInt32

from gateway.core.decide import Admission
from gateway.entries.ssh.forward import Forward, Reached, admitted, refused
from gateway.entries.ssh.guest import Cut, Guest
from gateway.wire.bridge import DialFault, Listening

_RETRY_S: Final = 0.2

Origin = tuple[str, int]
"""Where a connection came from inside the job: address and port; empty for a Unix socket."""
Kind = tuple[bytes, Callable[[int, Origin], tuple[bytes, ...]]]
"""A channel type and its own fields (RFC 4254 section 7.2), from the listener's port and the origin."""

AGENT: Final[Kind] = b"auth-agent@openssh.com", lambda _port, _origin: ()
X11: Final[Kind] = b"x11", lambda _port, origin: (String(origin[0]), UInt32(origin[1]))


def of_port(host: str) -> Kind:
    """Connections to a port that the client asked for under this host name: it knows them again by it."""
    name = os.fsencode(host)
    return b"forwarded-tcpip", lambda port, origin: (String(name), UInt32(port), String(origin[0]), UInt32(origin[1]))


def of_path(path: str) -> Kind:
    """Connections to a Unix socket (OpenSSH PROTOCOL section 2.4)."""
    name = os.fsencode(path)
    return b"forwarded-streamlocal@openssh.com", lambda _port, _origin: (String(name), String(b""))


class Listener(asyncssh.SSHListener):
    """What asyncssh holds of a listener, to close it or to tell its port."""

    def __init__(self, port: int, stop: Callable[[], None]) -> None:
        """`stop` ends the accepting."""
        self._port, self._stop = port, stop

    def get_port(self) -> int:
        """The port in the job."""
        return self._port

    def close(self) -> None:
        """Accepts no more connections."""
        self._stop()

    async def wait_closed(self) -> None:
        """Returns at once: nobody waits for what is being closed."""


async def listen(guest: Guest, where: Mapping[str, Any], kind: Kind) -> Listener | None:
    """A listener in the job that the connection leads to; None when it is not to be had."""
    opened: asyncio.Future[Listener | None] = asyncio.get_running_loop().create_future()
    guest.spawn(_serve(guest, where, kind, opened))
    return await opened


async def _serve(guest: Guest, where: Mapping[str, Any], kind: Kind, opened: asyncio.Future[Listener | None]) -> None:
    try:
        if guest.full() is not None:
            return
        admission = admitted(guest)
        async with guest.visit(admission, "ssh-listen"):
            with await _listening(guest, admission, where) as listening:
                guest.routing.entered(admission)
                stopped = asyncio.Event()
                opened.set_result(Listener(_port(listening), stopped.set))
                await _accept_until(stopped, guest, admission, listening, kind)
    except (Cut, asyncssh.ChannelOpenError):
        return  # who asked is told no; who listens already has the connections ended
    finally:
        if not opened.done():
            opened.set_result(None)


class Lending:
    """A listener beside a session, in the session's own visit. It ends, its connections included, with the block."""

    def __init__(self, listening: Listening, serving: asyncio.Task[None]) -> None:
        """`serving` takes care of what comes."""
        self.told = listening.told
        self._listening, self._serving = listening, serving

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_fault: object) -> None:
        """The session is over."""
        self._serving.cancel()
        self._listening.close()


async def lend(guest: Guest, admission: Admission, where: Mapping[str, Any], kind: Kind) -> Lending:
    """Begins to listen beside a session. Raises DialFault when it cannot."""
    listening = await guest.gate.bridge.listen(admission, where, deadline_s=guest.gate.config.dial_s)
    return Lending(listening, guest.spawn(_accept_until(asyncio.Event(), guest, admission, listening, kind)))


async def _listening(guest: Guest, admission: Admission, where: Mapping[str, Any]) -> Listening:
    try:
        return await guest.gate.bridge.listen(admission, where, deadline_s=guest.gate.config.dial_s)
    except DialFault as fault:
        raise refused(guest, fault.refusal) from fault


def _port(listening: Listening) -> int:
    port = listening.told.get("port")
    return port if isinstance(port, int) else 0


async def _accept_until(
    stopped: asyncio.Event, guest: Guest, admission: Admission, listening: Listening, kind: Kind
) -> None:
    """Serves what comes until told to stop, and what came before to its end."""
    async with asyncio.TaskGroup() as tasks:
        accepting = [
            tasks.create_task(_accept(sock, tasks, guest, admission, kind, _port(listening)))
            for sock in listening.sockets
        ]
        await stopped.wait()
        for task in accepting:
            task.cancel()
        listening.close()


async def _accept(
    listener: socket.socket, tasks: asyncio.TaskGroup, guest: Guest, admission: Admission, kind: Kind, port: int
) -> None:
    while True:
        try:
            sock, address = await asyncio.get_running_loop().sock_accept(listener)
        except OSError:
            await asyncio.sleep(_RETRY_S)  # no descriptor is free, or who connected is gone already
            continue
        origin = (str(address[0]), int(address[1])) if isinstance(address, tuple) else ("", 0)
        if guest.full() is None:
            tasks.create_task(_carry(guest, admission, sock, kind[0], kind[1](port, origin)))
        else:
            sock.close()


async def _carry(
    guest: Guest, admission: Admission, sock: socket.socket, name: bytes, fields: tuple[bytes, ...]
) -> None:
    """One connection, over a channel of its own. Whatever goes wrong with it is its end and nothing more.

    The admission is that of the visit around, which is cut, with all that came, when the right is gone.
    """

    @asynccontextmanager
    async def reach() -> AsyncIterator[Reached]:
        try:
            with sock:
                async with guest.visit(admission, "ssh-back") as visit:
                    yield sock, visit.count
        except Cut as cut:
            raise refused(guest, cut.refusal) from None

    await guest.guarded(Forward(guest, reach).back(name, fields))
