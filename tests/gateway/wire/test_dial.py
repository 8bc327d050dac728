"""Dialling: from an admission to a connected socket."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from gateway.contract.routes import Service
from gateway.core.refusals import Code
from gateway.wire import dial
from gateway.wire.bridge import Bridge
from tests.gateway import world
from tests.gateway.wire.bridges import bridge, connects_to


async def test_dialling_reaches_the_app(tmp_path: Path) -> None:
    """The socket is connected to the app's own."""
    with socket.create_server(("127.0.0.1", 0)) as app:
        app.setblocking(False)
        async with bridge(tmp_path, connects_to(app.getsockname()[1])):
            mine = Bridge(tmp_path, lambda: world.NOW)
            with await dial.connect(world.admission(world.entry()), bridge=mine, deadline_s=5) as upstream:
                theirs, _ = await asyncio.get_running_loop().sock_accept(app)
                with theirs:
                    theirs.send(b"220 ready")
                    assert await asyncio.get_running_loop().sock_recv(upstream, 100) == b"220 ready"


async def test_a_terminal_has_nothing_to_dial(tmp_path: Path) -> None:
    """It is entered by a shell; nobody is asked for a port."""
    terminal = world.admission(world.entry(service=Service.TERMINAL))
    with pytest.raises(dial.DialFault) as caught:
        await dial.connect(terminal, bridge=Bridge(tmp_path, lambda: world.NOW), deadline_s=5)
    assert caught.value.refusal.code is Code.UNSUPPORTED
