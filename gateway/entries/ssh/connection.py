"""One SSH connection, from the accepted socket to its end: sign-in, then channels into jobs.

A connection may come in over TCP or, with `ssh -J`, through a channel of another one. The inner
one is answered here too; whoever signed in outside need not do so again under the same name.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import asyncssh
from asyncssh.auth import KbdIntChallenge, KbdIntResponse

from gateway.core.refusals import Code, Refusal
from gateway.core.ssh_name import Login
from gateway.core.tickets import Visitor
from gateway.entries.ssh import back
from gateway.entries.ssh.doorstep import Doorstep
from gateway.entries.ssh.forward import (
    Forward,
    Reach,
    Reached,
    is_loopback,
    refused,
    to_host,
    to_path,
    to_port,
    unsupported,
)
from gateway.entries.ssh.guest import Guest
from gateway.entries.ssh.home_keys import HomeKey, HomeKeys
from gateway.entries.ssh.host_keys import Handshake
from gateway.entries.ssh.protocol import Connection, SessionChannel
from gateway.entries.ssh.routing import Routing
from gateway.entries.ssh.session import Session
from gateway.entries.ssh.sign_in import SignIn
from gateway.wire.gate import Gate

_SSH_PORT: Final = 22
_HOST_CHARACTERS: Final = 255


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a connection came: from which address, on which entry's random port, or inside which other connection."""

    address: str
    entry_port: int | None = None
    outer: Outer | None = None


@dataclass(frozen=True, slots=True)
class Outer:
    """The connection around a jump's inner one: who signed in there, with what, and the job they jump to."""

    visitor: Visitor
    home_key: HomeKey | None
    wanted: str


@dataclass(frozen=True, slots=True)
class House:
    """What all connections of one listener share: `live` holds them while they last."""

    gate: Gate
    handshake: Handshake
    doorstep: Doorstep
    home_keys: HomeKeys
    live: set[Connection]


class Attendant(asyncssh.SSHServer):
    """Answers what asyncssh asks about one connection. On the doorstep until the person has signed in."""

    def __init__(self, house: House, arrival: Arrival, tasks: asyncio.TaskGroup) -> None:
        """`tasks` runs the channels' work and ends with the connection."""
        self.address = arrival.address
        self._house, self._gate, self._arrival, self._tasks = house, house.gate, arrival, tasks
        self._sign_in = SignIn(house.gate, house.home_keys, arrival.address, self._tell)
        self._guest: Guest | None = None
        self._outside = arrival.outer

    # Coming and going ---------------------------------------------------------------------------

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """The peer is connected; a jump's inner connection has passed the doorstep already."""
        assert isinstance(conn, Connection)
        self._connection = conn
        if self._outside is None:
            self._house.doorstep.enter(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        """The peer is gone."""
        self._house.doorstep.leave(self)
        if self._guest is not None:
            self._guest.leave()
        else:
            self._gate.metrics.handshake_failed("ssh")

    @property
    def named(self) -> bool:
        """Whether the client has said who it wants to be."""
        return self._sign_in.login is not None

    def send_away(self) -> None:
        """Ends the connection at once: the doorstep is full."""
        self._connection.abort()

    # Signing in ---------------------------------------------------------------------------------

    def begin_auth(self, username: str) -> bool:
        """Whether the client must prove that it is this user."""
        self._sign_in.begin(username)
        if self._outside is not None and self._named_login().user == self._outside.visitor.name:
            self._sign_in.visitor, self._sign_in.home_key = self._outside.visitor, self._outside.home_key
        return self._sign_in.visitor is None

    def public_key_auth_supported(self) -> bool:
        """Keys are welcome."""
        return True

    async def validate_public_key(self, _username: str, key: asyncssh.SSHKey) -> bool:
        """Whether this key would do, be it offered or signed with."""
        return await self._sign_in.knows_key(key.get_fingerprint())

    async def key_signed(self, public_data: bytes, *, good: bool) -> bool:
        """Whether a request that was signed with this key signs the person in."""
        return await self._sign_in.key_signed(public_data, good=good)

    def password_auth_supported(self) -> bool:
        """Passwords are welcome."""
        return True

    async def validate_password(self, _username: str, password: str) -> bool:
        """Whether the password is right."""
        return await self._sign_in.password(password)

    def kbdint_auth_supported(self) -> bool:
        """XShell and MobaXterm ask for passwords in this way."""
        return True

    def get_kbdint_challenge(self, _username: str, _lang: str, _submethods: str) -> KbdIntChallenge:
        """One prompt, worded as libraries expect it."""
        return "", "", "", [("Password: ", False)]

    async def validate_kbdint_response(self, _username: str, responses: KbdIntResponse) -> bool:
        """Whether the one answer is the right password."""
        return len(responses) == 1 and await self._sign_in.password(responses[0])

    def auth_completed(self) -> None:
        """The person is who they say."""
        self._house.doorstep.leave(self)
        visitor, login = self._sign_in.visitor, self._named_login()
        if visitor is None or visitor.name != login.user:  # no way of signing in leaves it so
            raise asyncssh.PermissionDenied("nobody signed in")
        wanted = login.job if self._outside is None else login.job or self._outside.wanted
        routing = Routing(self._gate, visitor, wanted, self._arrival.entry_port)
        home_key = self._sign_in.home_key
        self._guest = Guest(self._gate, self._connection, visitor, routing, self.address, self._tasks, home_key)
        self._guest.spawn(self._guest.watch())
        if home_key is not None:
            self._guest.spawn(self._guest.watch_home_key(home_key, self._house.home_keys))
        if (idle_s := self._gate.config.ssh_idle_s) is not None:
            self._guest.spawn(self._guest.end_when_idle(idle_s))

    def _named_login(self) -> Login:
        assert self._sign_in.login is not None  # asyncssh begins with begin_auth
        return self._sign_in.login

    def _tell(self, text: str) -> None:
        self._connection.send_auth_banner(f"{text}\n")

    # Channels -----------------------------------------------------------------------------------

    def session_requested(self) -> tuple[SessionChannel, Session]:
        """A shell, a command or sftp."""
        guest = self._welcome()
        channel = SessionChannel(self._connection, asyncio.get_running_loop())
        return channel, Session(guest)

    def connection_requested(
        self, dest_host: str, dest_port: int, _orig_host: str, _orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        """A forward to a port of the job or through it, or a jump to a job by its name."""
        guest = self._welcome()
        if not guest.conditions.may_forward_to(dest_host, dest_port):
            raise refused(guest, Refusal(Code.KEY_CONDITION))
        return Forward(guest, self._reach(guest, dest_host, dest_port)).opened()

    def unix_connection_requested(self, dest_path: str) -> Awaitable[asyncssh.SSHUNIXSession[bytes]]:
        """A forward to a Unix socket of the job."""
        guest = self._welcome()
        if not guest.conditions.forwarding or guest.conditions.places is not None:
            raise refused(guest, Refusal(Code.KEY_CONDITION))
        return Forward(guest, to_path(guest, dest_path)).opened()

    async def server_requested(self, listen_host: str, listen_port: int) -> asyncssh.SSHListener | bool:
        """A listener in the job whose connections go to the client; port 0 is any free one."""
        guest = self._guest
        if guest is None or not 0 <= listen_port < 65536:
            return False
        if not guest.conditions.may_listen_on(listen_host, listen_port):
            return False
        return await back.listen(guest, {"port": listen_port}, back.of_port(listen_host)) or False

    async def unix_server_requested(self, listen_path: str) -> asyncssh.SSHListener | bool:
        """The same on a Unix socket."""
        guest = self._guest
        if guest is None or not guest.conditions.forwarding or guest.conditions.listening is not None:
            return False
        return await back.listen(guest, {"path": listen_path}, back.of_path(listen_path)) or False

    def _welcome(self) -> Guest:
        """The guest, when one more channel fits. Raises asyncssh.ChannelOpenError."""
        assert self._guest is not None  # asyncssh opens no channel before auth_completed
        if (busy := self._guest.full()) is not None:
            raise refused(self._guest, busy, asyncssh.OPEN_RESOURCE_SHORTAGE)
        return self._guest

    def _reach(self, guest: Guest, host: str, port: int) -> Reach:
        if not 0 < port < 65536 or len(host) > _HOST_CHARACTERS:
            raise unsupported(guest)
        if is_loopback(host):
            return to_port(guest, port)
        if port == _SSH_PORT and self._outside is None and guest.routing.jumps_to(host):
            return self._jump(guest, host)
        return to_host(guest, host, port)

    def _jump(self, guest: Guest, wanted: str) -> Reach:
        """An inner SSH connection that is answered here and leads to the job `wanted`."""

        @asynccontextmanager
        async def reach() -> AsyncIterator[Reached]:
            near, far = socket.socketpair()
            near.setblocking(False)
            arrival = Arrival(self.address, outer=Outer(guest.visitor, guest.home_key, wanted))
            guest.spawn(attend(self._house, far, arrival))
            with near:
                yield near, guest.count

        return reach


async def attend(house: House, sock: socket.socket, arrival: Arrival) -> None:
    """Serves one connection until it ends; cancelled, it ends at once. Takes the socket."""
    async with asyncio.TaskGroup() as tasks:
        connection = await _connected(house, sock, Attendant(house, arrival, tasks))
        house.live.add(connection)
        try:
            await connection.wait_closed()
        finally:
            house.live.discard(connection)
            connection.abort()


async def _connected(house: House, sock: socket.socket, attendant: Attendant) -> Connection:
    """The SSH connection over this socket, which belongs to its transport from here on."""
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    try:
        table = house.gate.table
        options = await house.handshake.options(table.secrets("ssh-host"), table.secrets("ssh-host-cert"))
        connection = Connection(loop, options, attendant)
        await loop.connect_accepted_socket(lambda: connection, sock)
    except BaseException:
        sock.close()
        raise
    return connection
