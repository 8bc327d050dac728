"""Services of listeners: restarted when they fail, ended in order."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest

from gateway import serving as module
from gateway.serving import Serving


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A listener of which a service gets a duplicate."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        yield sock


async def until_cancelled(listener: socket.socket) -> None:
    """A service that ends at once when told to."""
    await asyncio.Event().wait()


async def test_a_service_that_fails_is_started_again(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its fault is logged; the listener stays open for the next try."""
    monkeypatch.setattr(module, "_RESTART_S", 0.01)
    tries, third = list[int](), asyncio.Event()

    async def serve(sock: socket.socket) -> None:
        tries.append(sock.fileno())
        if len(tries) < 3:
            raise RuntimeError("a fault of its own")
        third.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        serving = Serving(group)
        serving.start("http", listener.dup(), serve)
        async with asyncio.timeout(5):
            await third.wait()
        await serving.drain(1, lambda: None)
    assert len(set(tries)) == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR, logging.ERROR]


async def test_stopping_one_leaves_the_others(listener: socket.socket) -> None:
    """A key is served until it is stopped; its own descriptor is closed then."""
    mine, other = listener.dup(), listener.dup()
    async with asyncio.TaskGroup() as group:
        serving = Serving(group)
        serving.start(40000, mine, until_cancelled)
        serving.start(40001, other, until_cancelled)
        await asyncio.sleep(0)
        serving.stop(40000)
        assert 40000 not in serving
        assert 40001 in serving
        await serving.drain(5, lambda: None)
    assert (mine.fileno(), other.fileno()) == (-1, -1)


async def test_draining_waits_and_then_calls_last_orders(listener: socket.socket) -> None:
    """What does not end within the patience is cut, stopped services included."""
    cut, lasting = asyncio.Event(), asyncio.Event()

    async def lingering(sock: socket.socket) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            lasting.set()
            await cut.wait()

    async with asyncio.TaskGroup() as group:
        serving = Serving(group)
        serving.start("http", listener.dup(), lingering)
        await asyncio.sleep(0)
        serving.stop("http")
        draining = group.create_task(serving.drain(0.1, cut.set))
        await lasting.wait()
        assert not draining.done()
        async with asyncio.timeout(5):
            await draining
    assert cut.is_set()


async def test_a_service_that_fails_while_it_is_stopped_ends(listener: socket.socket) -> None:
    """Its fault is not taken for a reason to start it again."""

    async def failing(sock: socket.socket) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("a fault at the end")

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        serving = Serving(group)
        serving.start("http", listener.dup(), failing)
        await asyncio.sleep(0)
        await serving.drain(1, lambda: None)
