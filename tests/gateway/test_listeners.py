"""Listening sockets on loan from the supervisor."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest

from gateway.contract.calls import Answer, Peer, listen, serve
from gateway.listeners import Listeners, PortBusyError, patiently
from tests.gateway.supervisors import free_port, supervisor


async def test_a_named_listener_is_the_supervisors_own(tmp_path: Path) -> None:
    """Who connects to the supervisor's port is accepted here."""
    async with supervisor(tmp_path) as held:
        port = held.bind("http")
        with await Listeners(tmp_path).named("http") as listener, socket.create_connection(("127.0.0.1", port)):
            accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
            accepted.close()
            assert not listener.getblocking()


async def test_an_unknown_name_is_an_error(tmp_path: Path) -> None:
    """The supervisor's reason is told."""
    async with supervisor(tmp_path):
        with pytest.raises(ConnectionError, match="no such listener"):
            await Listeners(tmp_path).named("gopher")


async def test_a_random_port_is_bound_on_asking(tmp_path: Path) -> None:
    """Asked twice, it is the same listener; a busy one tells who has it."""
    port, busy = free_port(), free_port()
    async with supervisor(tmp_path) as held:
        held.busy[busy] = f"port {busy} is taken by sshd"
        listeners = Listeners(tmp_path)
        for _ in range(2):
            with await listeners.on_port(port) as listener:
                assert listener.getsockname()[1] == port
        with pytest.raises(PortBusyError, match="taken by sshd"):
            await listeners.on_port(busy)


async def test_ready_is_said_once(tmp_path: Path) -> None:
    """The supervisor knows the process by its pid."""
    async with supervisor(tmp_path) as held:
        await Listeners(tmp_path).ready()
        assert held.ready == [os.getpid()]


async def test_patience_waits_for_the_supervisor(tmp_path: Path) -> None:
    """It is not there yet: asked again until it is, or until the time is over."""
    with pytest.raises(TimeoutError):
        await patiently(Listeners(tmp_path), "http", tries_s=0.15)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(patiently(Listeners(tmp_path), "http", tries_s=10))
        await asyncio.sleep(0)
        async with supervisor(tmp_path) as held:
            held.bind("http")
            with await asking as listener:
                assert listener.getsockname() == held.named["http"].getsockname()


async def test_an_odd_answer_lends_nothing(tmp_path: Path) -> None:
    """An answer that is no object counts as a no; spare descriptors are closed."""
    read_end, write_end = os.pipe()
    sock = socket.create_server(("127.0.0.1", 0))

    async def handler(message: bytes, peer: Peer) -> Answer:
        return (b"[]", []) if b"http" in message else (b'{"ok":true}', [sock.detach(), write_end])

    async with asyncio.TaskGroup() as group:
        with listen(str(tmp_path / "supervisor.sock")) as listener:
            serving = group.create_task(serve(listener, handler, deadline_s=5))
            with pytest.raises(ConnectionError):
                await Listeners(tmp_path).named("http")
            with await Listeners(tmp_path).named("console"):
                assert os.read(read_end, 1) == b""
            serving.cancel()
            await asyncio.wait([serving])
    os.close(read_end)
