"""A forwarded connection: to a port or a Unix socket of the job, or through it to another machine (`ssh -L`, `-D`,
`-W`), to a job by its name (`-J`), or from a listener of the job to the client (back.py).

A channel that the client opens is confirmed once the job's side is connected, so that a refusal reaches the client as
one and a program that speaks first loses nothing. Each direction ends by itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

import asyncssh

from gateway.core.decide import Admission
from gateway.core.menu_words import job_list
from gateway.core.refusals import Code, Refusal, sentence
from gateway.entries.ssh.ends import End, Inlet, Outlet
from gateway.entries.ssh.guest import Cut, Guest
from gateway.entries.ssh.routing import Several
from gateway.wire.bridge import Bridge, DialFault
from gateway.wire.relay import Count

_READ_BYTES: Final = 64 * 1024
_OPEN_S: Final = 30.0

Reached = tuple[socket.socket, Count]
"""A connected socket of the job's side, and who counts the bytes: inward, outward."""
Reach = Callable[[], AbstractAsyncContextManager[Reached]]
"""Connects the far side for as long as the block runs. Raises asyncssh.ChannelOpenError."""


class Forward(asyncssh.SSHTCPSession[bytes], asyncssh.SSHUNIXSession[bytes]):
    """One forwarded connection."""

    def __init__(self, guest: Guest, reach: Reach) -> None:
        """Nothing is connected before `opened` is awaited."""
        self._guest, self._reach = guest, reach
        self._connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._confirmed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def opened(self) -> Forward:
        """Itself, once the far side is connected. Raises asyncssh.ChannelOpenError when it cannot be."""
        self._task = self._guest.spawn(self._run())
        await self._connected
        return self

    async def back(self, kind: bytes, fields: tuple[bytes, ...]) -> None:
        """Carries a connection from the job to the client, over a channel that it may refuse."""
        self._task = asyncio.current_task()
        try:
            async with self._reach() as (sock, count):
                async with asyncio.timeout(_OPEN_S):
                    await self._guest.connection.open_back(lambda: self, kind, *fields)
                await self._relay(sock, count)
        except (asyncssh.ChannelOpenError, TimeoutError):
            return  # the job's program sees its connection end
        finally:
            if self._confirmed.is_set():
                self._channel.abort()

    # What asyncssh calls: nothing here waits or raises ------------------------------------------

    def connection_made(self, chan: Any) -> None:
        """The channel is confirmed."""
        self._channel = chan
        self._inlet = Inlet(chan.pause_reading, chan.resume_reading)
        self._outlet = Outlet(self._guest.connection, chan)

    def session_started(self) -> None:
        """Bytes may go both ways."""
        self._confirmed.set()

    def data_received(self, data: bytes, _datatype: asyncssh.DataType) -> None:
        """Bytes from the client."""
        self._inlet.put(data)

    def eof_received(self) -> bool:
        """The client sends no more; the answer goes on."""
        self._inlet.put(End())
        return True

    def pause_writing(self) -> None:
        """The client's window is used up."""
        self._outlet.pause()

    def resume_writing(self) -> None:
        """The client takes more."""
        self._outlet.resume()

    def connection_lost(self, _exc: Exception | None) -> None:
        """The channel is gone."""
        if self._task is not None:
            self._task.cancel()

    # The work -----------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            async with self._reach() as (sock, count):
                self._connected.set_result(None)
                await self._confirmed.wait()
                await self._relay(sock, count)
        except asyncssh.ChannelOpenError as fault:
            self._fail(fault)
        except Exception:
            self._fail(asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, "the gateway failed"))
            raise
        finally:
            self._connected.cancel()
            if self._confirmed.is_set():
                self._channel.abort()  # what was to be sent is sent; a client that is cut off gets no more

    def _fail(self, fault: asyncssh.ChannelOpenError) -> None:
        if not self._connected.done():
            self._connected.set_exception(fault)

    async def _relay(self, sock: socket.socket, count: Count) -> None:
        reader, writer = await asyncio.open_connection(sock=sock)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._to_job(writer, count))
                await self._to_client(reader, count)
            writer.close()
            await writer.wait_closed()
        except* ConnectionError:
            pass  # one side broke off; the other is closed at once
        finally:
            writer.transport.abort()

    async def _to_client(self, reader: asyncio.StreamReader, count: Count) -> None:
        while data := await reader.read(_READ_BYTES):
            await self._outlet.write(data)
            count(0, len(data))
        await self._outlet.end()

    async def _to_job(self, writer: asyncio.StreamWriter, count: Count) -> None:
        while isinstance(data := await self._inlet.get(), bytes):
            writer.write(data)
            await writer.drain()
            count(len(data), 0)
        if writer.can_write_eof():
            writer.write_eof()


def is_loopback(host: str) -> bool:
    """Whether a destination means the job's own machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


def to_port(guest: Guest, port: int) -> Reach:
    """A port of the job that the connection named or entered."""
    return _by_job(guest, lambda bridge, by, within_s: bridge.connect(by, port=port, deadline_s=within_s))


def to_path(guest: Guest, path: str) -> Reach:
    """A Unix socket of the job that the connection named or entered."""
    return _by_job(guest, lambda bridge, by, within_s: bridge.connect(by, path=path, deadline_s=within_s))


def to_host(guest: Guest, host: str, port: int) -> Reach:
    """Another machine, reached from inside that job."""
    return _by_job(guest, lambda bridge, by, within_s: bridge.reach(by, host, port, deadline_s=within_s))


Dial = Callable[[Bridge, Admission, float], Awaitable[socket.socket]]


def _by_job(guest: Guest, dial: Dial) -> Reach:
    @asynccontextmanager
    async def reach() -> AsyncIterator[Reached]:
        admission = admitted(guest)
        try:
            async with guest.visit(admission, "ssh-forward") as visit:
                with await _dialled(guest, admission, dial) as sock:
                    guest.routing.entered(admission)
                    yield sock, visit.count
        except Cut as cut:
            raise refused(guest, cut.refusal) from None

    return reach


async def _dialled(guest: Guest, admission: Admission, dial: Dial) -> socket.socket:
    try:
        return await dial(guest.gate.bridge, admission, guest.gate.config.dial_s)
    except DialFault as fault:
        raise refused(guest, fault.refusal, asyncssh.OPEN_CONNECT_FAILED) from fault


def admitted(guest: Guest) -> Admission:
    """The job that the connection leads to. Raises asyncssh.ChannelOpenError. Open a visit before the next await."""
    destination = guest.routing.admit()
    match destination:
        case Admission():
            return destination
        case Several(why, ways):
            entry = ways[0].entry
            text = job_list(why, ways, guest.visitor.name, entry.host, entry.port, guest.language)
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, text)
        case Refusal():
            raise refused(guest, destination)


def refused(
    guest: Guest, refusal: Refusal, code: int = asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
) -> asyncssh.ChannelOpenError:
    """A refusal in the tongue of channel opening (RFC 4254 section 5.1)."""
    return asyncssh.ChannelOpenError(code, sentence(refusal, guest.language))


def unsupported(guest: Guest) -> asyncssh.ChannelOpenError:
    """The answer to destinations and kinds of forward that no job has."""
    return refused(guest, Refusal(Code.UNSUPPORTED))
