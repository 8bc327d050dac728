"""Bytes between two sockets: order, half-closes, back-pressure, resets, cancelling; on both loops."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.wire import splice
from gateway.wire.relay import BUFFER_BYTES, relay, reset_on_close, watch_over
from gateway.wire.splice import Pipes
from tests.gateway.loops import Runner, both_loops


@pytest.fixture(params=["pipes", "copies"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pipes:
    """Has bulk go through pipes of the test's own, or be copied."""
    pipes = Pipes()
    monkeypatch.setattr("gateway.wire.relay.PIPES", pipes)
    if request.param == "copies":
        monkeypatch.setattr(splice, "LIMIT", 0)
    return pipes


class Count:
    """Adds up what the relay tells."""

    def __init__(self) -> None:
        self.inward = self.outward = 0

    def __call__(self, inward: int, outward: int) -> None:
        self.inward += inward
        self.outward += outward


async def tcp_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected, non-blocking TCP sockets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    near.setblocking(False)
    far.setblocking(False)
    return near, far


@asynccontextmanager
async def relayed(count: Count) -> AsyncIterator[tuple[socket.socket, socket.socket, asyncio.Task[None]]]:
    """A person's socket and an app's, with a relay between them that closes its own ends."""
    person, left = await tcp_pair()
    right, app = await tcp_pair()

    async def run() -> None:
        with left, right:
            await relay(left, right, count=count)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(_quietly(run()))
        try:
            async with asyncio.timeout(20):
                with person, app:
                    yield person, app, task
        finally:
            task.cancel()


async def _quietly(running: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(ConnectionError):
        await running


async def read_all(sock: socket.socket) -> bytes:
    """Everything up to the orderly end."""
    loop, parts = asyncio.get_running_loop(), []
    while part := await loop.sock_recv(sock, 65536):
        parts.append(part)
    return b"".join(parts)


@both_loops
def test_bytes_pass_both_ways_and_are_counted(run: Runner) -> None:
    """A request and its answer arrive whole; the count tells each direction."""

    async def body() -> None:
        loop, count = asyncio.get_running_loop(), Count()
        async with relayed(count) as (person, app, _):
            await loop.sock_sendall(person, b"question")
            assert await loop.sock_recv(app, 100) == b"question"
            await loop.sock_sendall(app, b"an answer")
            assert await loop.sock_recv(person, 100) == b"an answer"
        assert (count.inward, count.outward) == (8, 9)

    run(body())


@both_loops
def test_the_app_may_speak_first(run: Runner) -> None:
    """Nothing waits for the person's first byte."""

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with relayed(Count()) as (person, app, _):
            await loop.sock_sendall(app, b"220 hello\r\n")
            assert await loop.sock_recv(person, 100) == b"220 hello\r\n"

    run(body())


@both_loops
def test_a_half_close_lets_the_reply_through(run: Runner) -> None:
    """The person ends their side; the app sees the end, replies later, and ends: all of it arrives."""

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with relayed(Count()) as (person, app, task):
            await loop.sock_sendall(person, b"last words")
            person.shutdown(socket.SHUT_WR)
            assert await read_all(app) == b"last words"
            await loop.sock_sendall(app, b"reply after the end")
            app.shutdown(socket.SHUT_WR)
            assert await read_all(person) == b"reply after the end"
            await task

    run(body())


@both_loops
def test_bulk_both_ways_arrives_unchanged(run: Runner, way: Pipes) -> None:
    """Twelve megabytes each way at the same time, through readers that pause, hash the same."""

    async def body() -> None:
        data, loop, count = os.urandom(12 * 1024 * 1024), asyncio.get_running_loop(), Count()

        async def drink(sock: socket.socket) -> str:
            digest, size = hashlib.sha256(), 0
            while part := await loop.sock_recv(sock, 300_000):
                digest.update(part)
                size += len(part)
                await asyncio.sleep(0)
            return digest.hexdigest()

        async def pour(sock: socket.socket) -> None:
            await loop.sock_sendall(sock, data)
            sock.shutdown(socket.SHUT_WR)

        async with relayed(count) as (person, app, task):
            async with asyncio.TaskGroup() as group:
                group.create_task(pour(person))
                group.create_task(pour(app))
                drinks = [group.create_task(drink(sock)) for sock in (person, app)]
            await task
        assert {drunk.result() for drunk in drinks} == {hashlib.sha256(data).hexdigest()}
        assert (count.inward, count.outward) == (len(data), len(data))
        assert bool(way.made) is bool(splice.LIMIT)
        assert len(way) == way.made

    run(body())


@both_loops
def test_a_reader_that_stops_stops_the_writer(run: Runner, way: Pipes) -> None:
    """The app does not read: the person's writing comes to a halt instead of filling the gateway's memory."""

    async def body() -> None:
        count = Count()
        async with relayed(count) as (person, app, _):
            sent = await _push_until_stuck(person)
            read = 0
            while read < sent:
                read += len(await asyncio.get_running_loop().sock_recv(app, 1 << 20))
            assert count.inward == sent
        # What was on the way lay in kernel buffers and one held piece.
        assert sent < (64 * BUFFER_BYTES if not way.made else 64 * splice.PIPE_BYTES)
        assert len(way) == way.made

    run(body())


@both_loops
@pytest.mark.parametrize("how", ["cancelled", "reset"])
def test_what_waits_in_a_pipe_is_lost_with_its_relay(run: Runner, way: Pipes, how: str) -> None:
    """The reader sees a reset, or less than was sent, and no pipe leaks."""

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with relayed(Count()) as (person, app, task):
            sent = await _push_until_stuck(person)
            if how == "cancelled":
                task.cancel()
            else:
                reset_on_close(person)
                person.close()
                await loop.sock_recv(app, 1 << 20)  # makes room: the relay looks at both sides again
            read = 0
            with contextlib.suppress(ConnectionResetError):
                while part := await loop.sock_recv(app, 1 << 20):
                    read += len(part)
                assert how == "cancelled"
            assert read < sent
        assert len(way) == way.made

    run(body())


async def _push_until_stuck(sock: socket.socket) -> int:
    """Writes until nothing more goes for a while; returns the bytes that went."""
    sent, piece, loop = 0, bytes(65536), asyncio.get_running_loop()
    last = loop.time()
    while loop.time() - last < 0.3:
        try:
            sent += sock.send(piece)
            last = loop.time()
        except BlockingIOError:
            await asyncio.sleep(0.01)
    return sent


@both_loops
def test_a_reset_is_passed_on_as_a_reset(run: Runner) -> None:
    """The app breaks off within its answer: the person must not take it for the answer's end."""

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with relayed(Count()) as (person, app, _):
            await loop.sock_sendall(app, b"half an ans")
            assert await loop.sock_recv(person, 100) == b"half an ans"
            reset_on_close(app)
            app.close()
            with pytest.raises(ConnectionResetError):
                await loop.sock_recv(person, 100)

    run(body())


@both_loops
def test_a_reset_after_a_half_close_is_noticed(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person ended their side, the app thinks, and the person goes for good: the app learns of it."""
    monkeypatch.setattr("gateway.wire.relay.CHECK_S", 0.05)

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with relayed(Count()) as (person, app, task):
            person.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(app, 100) == b""
            await asyncio.sleep(0.12)
            assert not task.done()
            reset_on_close(person)
            person.close()
            await task

    run(body())


@both_loops
def test_the_relay_raises_when_a_side_breaks_off(run: Runner) -> None:
    """Its caller learns of a reset by ConnectionError."""

    async def body() -> None:
        person, left = await tcp_pair()
        right, app = await tcp_pair()
        reset_on_close(person)
        person.close()
        with left, right, app, pytest.raises(ConnectionError):
            async with asyncio.timeout(5):
                await relay(left, right, count=Count())

    run(body())


@both_loops
def test_a_cancelled_relay_lets_go_of_its_sockets(run: Runner) -> None:
    """After cancelling, the descriptors are free for other watchers and both peers see the close."""

    async def body() -> None:
        async with relayed(Count()) as (person, app, task):
            await asyncio.sleep(0)
            task.cancel()
            assert await read_all(person) == b""
            assert await read_all(app) == b""

    run(body())


async def test_unix_sockets_are_relayed_too() -> None:
    """What a bridge hands over may be a Unix socket, which knows neither resets nor delays."""
    person, left = socket.socketpair()
    right, app = socket.socketpair()
    for sock in (person, left, right, app):
        sock.setblocking(False)
        watch_over(sock)
        reset_on_close(sock)
    loop = asyncio.get_running_loop()
    with person, left, right, app:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(relay(left, right, count=Count()))
            await loop.sock_sendall(person, b"hi")
            assert await loop.sock_recv(app, 10) == b"hi"
            person.shutdown(socket.SHUT_WR)
            app.shutdown(socket.SHUT_WR)
            await task


async def test_a_watched_tcp_socket_sends_at_once_and_notices_a_dead_peer() -> None:
    """The options that B09 (a peer that vanished without a FIN) needs are set."""
    near, far = await tcp_pair()
    with near, far:
        watch_over(near)
        assert near.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert near.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert near.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60
