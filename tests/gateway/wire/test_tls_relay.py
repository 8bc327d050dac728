"""A relay through TLS: each direction ends by itself, back-pressure holds, what is cut is never an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from gateway.entries.tls import server_context
from gateway.wire import tls_relay
from gateway.wire.secured import Secured
from gateway.wire.tls_relay import relay_tls
from tests.gateway.loops import Runner, both_loops
from tests.gateway.tls_client import TlsClient, client_context, server_certificate

BIG = 8 * 1024 * 1024
NAME = "a.proxy.localhost"


@dataclass
class Scene:
    """A person's TLS client, the app's socket, and the relay between them."""

    person: TlsClient
    app: socket.socket
    relaying: asyncio.Task[None]
    counted: list[int] = field(default_factory=lambda: [0, 0])

    async def app_reads(self, count: int = 65536) -> bytes:
        """What the app gets next; b"" at the end."""
        return await asyncio.get_running_loop().sock_recv(self.app, count)

    async def app_says(self, data: bytes) -> None:
        """The app sends it all."""
        await asyncio.get_running_loop().sock_sendall(self.app, data)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    for end in (near, far):
        end.setblocking(False)
    return near, far


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """Everything connected, hands shaken; the relay's own sockets are closed when it ends."""
    (near, door), (up, app) = tcp_pair(), tcp_pair()
    client = TlsClient(near, client_context(), NAME)
    secured = Secured(door, server_context(server_certificate()))
    counted = [0, 0]

    def count(inward: int, outward: int) -> None:
        counted[0] += inward
        counted[1] += outward

    async def run() -> None:
        with door, up:
            await relay_tls(secured, up, count=count)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        shaking = group.create_task(secured.shake_hands())
        await client.shake_hands()
        await shaking
        relaying = asyncio.get_running_loop().create_task(run())
        with near, app:
            yield Scene(client, app, relaying, counted)
        relaying.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await relaying


@both_loops
def test_a_persons_end_goes_through_and_the_reply_comes_after_it(run: Runner) -> None:
    """close_notify becomes FIN; the app answers only then, and its FIN becomes close_notify."""

    async def body() -> None:
        async with scene() as held:
            await held.person.send(b"question")
            await held.person.end()
            assert await held.app_reads() == b"question"
            assert await held.app_reads() == b""
            await held.app_says(b"answer")
            held.app.shutdown(socket.SHUT_WR)
            assert await held.person.read() == b"answer"
            await held.relaying
            assert held.counted == [8, 6]

    run(body())


@both_loops
def test_an_apps_end_goes_through_and_the_person_goes_on(run: Runner) -> None:
    """After the app's FIN the person has close_notify, and still delivers a lot."""

    async def body() -> None:
        async with scene() as held:
            await held.app_says(b"bye")
            held.app.shutdown(socket.SHUT_WR)
            assert await held.person.read() == b"bye"
            data = bytes(range(256)) * 4096
            async with asyncio.TaskGroup() as group:
                group.create_task(held.person.send(data))
                got = b""
                while len(got) < len(data):
                    got += await held.app_reads()
            assert got == data
            await held.person.end()
            assert await held.app_reads() == b""
            await held.relaying

    run(body())


@both_loops
def test_much_passes_both_ways_at_once(run: Runner) -> None:
    """Eight MiB each way, an echo: nothing is lost, doubled or mixed up."""

    async def body() -> None:
        data = (b"0123456789abcdef" * 4096) * (BIG // 65536)
        async with scene() as held, asyncio.TaskGroup() as group:

            async def echo() -> None:
                while part := await held.app_reads():
                    await held.app_says(part)
                held.app.shutdown(socket.SHUT_WR)

            async def send() -> None:
                for start in range(0, BIG, 65536):
                    await held.person.send(data[start : start + 65536])
                await held.person.end()

            group.create_task(echo())
            sending = group.create_task(send())
            got = await held.person.read(BIG)
            await sending
            assert got == data

    run(body())


@both_loops
@pytest.mark.parametrize("slow", ["app", "person"])
def test_who_does_not_read_stops_the_other(run: Runner, slow: str) -> None:
    """The sender stalls within what the kernel's buffers and one read hold; nothing piles up here."""

    async def body() -> None:
        async with scene() as held:
            send = held.person.send if slow == "app" else held.app_says
            sent = 0
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    while sent < 64 * BIG:
                        await send(bytes(65536))
                        sent += 65536
            assert 0 < sent < 4 * BIG

    run(body())


@both_loops
def test_a_person_who_vanishes_is_a_reset_for_the_app(run: Runner) -> None:
    """FIN without close_notify: the app must not take half for the whole."""

    async def body() -> None:
        async with scene() as held:
            await held.person.send(b"half")
            assert await held.app_reads() == b"half"
            held.person.sock.shutdown(socket.SHUT_RDWR)
            with pytest.raises(ConnectionError):
                await held.relaying
            with pytest.raises(ConnectionError):
                await held.app_reads()

    run(body())


@both_loops
def test_an_app_that_breaks_is_no_close_notify_for_the_person(run: Runner) -> None:
    """The app's reset ends the person's connection without an orderly end."""

    async def body() -> None:
        async with scene() as held:
            await held.app_says(b"half")
            assert await held.person.read(4) == b"half"
            held.app.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            held.app.close()
            with pytest.raises(ConnectionError):
                await held.person.read()

    run(body())


@both_loops
def test_an_app_that_breaks_while_much_of_it_waits_is_noticed(run: Runner) -> None:
    """The person reads what came, and then no end; libuv tells of an error once, though bytes wait before it."""

    async def body() -> None:
        async with scene() as held:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.3):
                    while True:
                        await held.app_says(bytes(65536))
            held.app.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            held.app.close()
            with pytest.raises(ConnectionError):
                await _all_of_it(held.person)

    run(body())


async def _all_of_it(client: TlsClient) -> None:
    while await client.read():
        pass


@both_loops
def test_a_person_who_hangs_up_after_the_end_is_no_fault(run: Runner) -> None:
    """Once told that nothing more comes, most clients just close."""

    async def body() -> None:
        async with scene() as held:
            held.app.shutdown(socket.SHUT_WR)
            assert await held.person.read() == b""
            held.person.sock.close()
            await held.relaying

    run(body())


@both_loops
def test_garbage_instead_of_records_ends_it(run: Runner) -> None:
    """Somebody on the way writes into the stream: nothing of it reaches the app."""

    async def body() -> None:
        async with scene() as held:
            await asyncio.get_running_loop().sock_sendall(held.person.sock, b"\x17\x03\x03\x00\x20" + bytes(32))
            with pytest.raises(ConnectionError):
                await held.relaying
            with pytest.raises(ConnectionError):
                assert not await held.app_reads()

    run(body())


@both_loops
def test_a_reset_after_both_have_little_to_say_is_found(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that ended is not read any more; a look now and then finds that it is gone for good."""
    monkeypatch.setattr(tls_relay, "CHECK_S", 0.05)

    async def body() -> None:
        async with scene() as held:
            await held.person.end()
            assert await held.app_reads() == b""
            held.person.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            held.person.sock.close()
            with pytest.raises(ConnectionError):
                await held.relaying

    run(body())
