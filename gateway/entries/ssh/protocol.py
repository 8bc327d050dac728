"""Our own kinds of asyncssh connection and channel: the one file that reaches below its public API.

What they add, and what breaks without it:
- back-pressure of the transport. asyncssh ignores a full transport, so that a slow reader with a
  huge window makes the process hold everything its job prints (`room`);
- a bound for what a peer can make us answer or hold back while it does not read;
- exec commands byte for byte (asyncssh refuses what is not UTF-8), environments of bounded size;
- a signed key told apart from an offered one (CVE-2024-45337 is the mistake of confusing them);
- a client that closes its channel is gone at once, though its unread input is still held;
- a forward's destination or listening place byte for byte, and a request to cancel a forward that does not
  exist refused: asyncssh ends the whole connection over both.

The version of asyncssh is pinned by the lock file; tests/gateway/entries/ssh/test_protocol.py fails
when an upgrade moves what is overridden here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import asyncssh
from asyncssh.constants import MSG_CHANNEL_CLOSE, MSG_IGNORE
from asyncssh.packet import SSHPacket

TRANSPORT_LIMIT_BYTES: Final = 256 * 1024
"""What may wait in a connection's transport before its channels stop reading from their jobs."""
_ANSWERS_LIMIT_BYTES: Final = 2 * 1024 * 1024
_DEFERRED_LIMIT: Final = 4096
_ENVIRONMENT_NAMES: Final = 64
_ENVIRONMENT_BYTES: Final = 16 * 1024
_WINDOW_BYTES: Final = 1024 * 1024
_PACKET_BYTES: Final = 32 * 1024


class Door(Protocol):
    """What a connection tells its owner beside asyncssh's own callbacks."""

    async def key_signed(self, public_data: bytes, *, good: bool) -> bool:
        """Whether a request signed with this key, well or badly, is let in. May raise asyncssh.DisconnectError."""


class Connection(asyncssh.SSHServerConnection):
    """The server's side of one SSH connection. `room` is set while the transport takes more."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, options: asyncssh.SSHServerConnectionOptions, door: asyncssh.SSHServer
    ) -> None:
        """`door` is this connection's own owner; the options are shared by all connections."""
        super().__init__(loop, options)
        self.room = asyncio.Event()
        self.room.set()
        self._protocol_factory = lambda: door
        self._door: Any = door
        self._full = False

    @property
    def channel_count(self) -> int:
        """Channels that are open or being opened."""
        return len(self._channels)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Bounds the transport's buffer."""
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=TRANSPORT_LIMIT_BYTES)

    def pause_writing(self) -> None:
        """The transport is full."""
        self._full = True
        self.room.clear()

    def resume_writing(self) -> None:
        """The transport takes more; so may we, answers included."""
        self._full = False
        self._make_room()
        if self._transport is not None:
            self._transport.resume_reading()

    def send_packet(self, pkttype: int, *args: bytes, handler: Any = None) -> None:
        """Sends a packet, or keeps it until a key exchange is over. Both are bounded.

        asyncssh puts an empty MSG_IGNORE before each packet, which guards CBC ciphers. We offer none, and
        without it bulk costs a tenth less.
        """
        if pkttype == MSG_IGNORE:
            return
        super().send_packet(pkttype, *args, handler=handler)
        if self._deferred_packets:
            self.room.clear()
        if len(self._deferred_packets) > _DEFERRED_LIMIT:
            self._force_close(asyncssh.ConnectionLost("the peer holds a key exchange open"))
        if self._transport is not None and self._transport.get_write_buffer_size() > _ANSWERS_LIMIT_BYTES:
            # It asks and does not read the answers. The transport is far over its own limit: resume_writing comes.
            self._transport.pause_reading()

    def _send_deferred_packets(self) -> None:
        super()._send_deferred_packets()
        self._make_room()

    def _make_room(self) -> None:
        if not self._full and not self._deferred_packets:
            self.room.set()

    async def reload_config(self) -> None:
        """Does nothing: there are no configuration files to read again for each user name."""

    async def validate_public_key(self, username: str, key_data: bytes, msg: bytes, signature: bytes) -> bool:
        """Checks an offer (no `msg`) or a signed request; asks the door about the latter only."""
        good = await super().validate_public_key(username, key_data, msg, signature)
        if not msg:
            return good
        return bool(await self._door.key_signed(key_data, good=good))

    async def open_back(self, session: Callable[[], Any], kind: bytes, *fields: bytes) -> None:
        """Opens a channel of this kind to the client. Raises asyncssh.ChannelOpenError when it refuses."""
        channel = self.create_tcp_channel(window=_WINDOW_BYTES, max_pktsize=_PACKET_BYTES)
        await channel._open_forward(session, kind, *fields)  # noqa: SLF001 - all such channels differ in this alone

    def _process_direct_tcpip_open(self, packet: SSHPacket) -> tuple[Any, Any]:
        host, port = packet.get_string(), packet.get_uint32()
        packet.get_string()  # where the client's program came from: the client's own business
        packet.get_uint32()
        packet.check_end()
        session = self._door.connection_requested(_text(host), port, "", 0)
        return self.create_tcp_channel(), session

    def _process_direct_streamlocal_at_openssh_dot_com_open(self, packet: SSHPacket) -> tuple[Any, Any]:
        path = packet.get_string()
        packet.get_string()  # reserved (OpenSSH PROTOCOL section 2.4)
        packet.get_uint32()
        packet.check_end()
        session = self._door.unix_connection_requested(_text(path))
        return self.create_unix_channel(), session

    def _process_tcpip_forward_global_request(self, packet: SSHPacket) -> None:
        host, port = packet.get_string(), packet.get_uint32()
        packet.check_end()
        self.create_task(self._finish_port_forward(_text(host), port))

    def _process_streamlocal_forward_at_openssh_dot_com_global_request(self, packet: SSHPacket) -> None:
        path = packet.get_string()
        packet.check_end()
        self.create_task(self._finish_path_forward(_text(path)))

    def _process_cancel_tcpip_forward_global_request(self, packet: SSHPacket) -> None:
        host, port = packet.get_string(), packet.get_uint32()
        packet.check_end()
        self._cancel((_text(host), port))

    def _process_cancel_streamlocal_forward_at_openssh_dot_com_global_request(self, packet: SSHPacket) -> None:
        path = packet.get_string()
        packet.check_end()
        self._cancel(_text(path))

    def _cancel(self, place: Any) -> None:
        listener = self._local_listeners.pop(place, None)
        if listener is not None:
            listener.close()
        self._report_global_response(listener is not None)


class SessionChannel(asyncssh.SSHServerChannel[bytes]):
    """The server's side of a session channel."""

    def __init__(self, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        """Bytes both ways; a pty may be asked for; lines are nobody's business but the job's."""
        super().__init__(
            connection,
            loop,
            allow_pty=True,
            line_editor=False,
            line_echo=False,
            line_history=0,
            max_line_length=0,
            encoding=None,
            errors="strict",
            window=_WINDOW_BYTES,
            max_pktsize=_PACKET_BYTES,
        )

    def environment(self) -> Sequence[tuple[bytes, bytes]]:
        """What the client's env requests set, in their order."""
        return list(self._env.items())

    def _process_exec_request(self, packet: SSHPacket) -> bool:
        command = packet.get_string()
        packet.check_end()
        # Bytes that are not UTF-8 become lone surrogates (PEP 383), as everywhere in Python.
        return b"\0" not in command and self._start_session(command=command.decode("utf-8", "surrogateescape"))

    def _process_env_request(self, packet: SSHPacket) -> bool:
        name, value = packet.get_string(), packet.get_string()
        packet.check_end()
        held = sum(len(key) + len(text) for key, text in self._env.items())
        if len(self._env) >= _ENVIRONMENT_NAMES or held + len(name) + len(value) > _ENVIRONMENT_BYTES:
            return False
        self._env[name] = value
        return True

    def _process_auth_agent_req_at_openssh_dot_com_request(self, packet: SSHPacket) -> None:
        packet.check_end()
        self._report_response(not self._session_started and self._asked.agent_requested())

    def _process_x11_req_request(self, packet: SSHPacket) -> bool | None:
        packet.get_boolean()  # a single connection: asked for by nobody
        protocol, cookie, screen = packet.get_string(), packet.get_string(), packet.get_uint32()
        packet.check_end()
        return not self._session_started and bool(self._asked.display_requested(protocol, cookie, screen))

    @property
    def _asked(self) -> Any:
        return self._session  # asyncssh has no callbacks for these; our Session does

    def _process_close(self, pkttype: int, pktid: int, packet: SSHPacket) -> None:
        super()._process_close(pkttype, pktid, packet)
        self._discard_recv()

    # asyncssh calls packet handlers from this table, not by name.
    _packet_handlers = {**asyncssh.SSHServerChannel._packet_handlers, MSG_CHANNEL_CLOSE: _process_close}  # noqa: RUF012, SLF001


def _text(name: bytes) -> str:
    """Bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    return name.decode("utf-8", "surrogateescape")
