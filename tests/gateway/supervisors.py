"""A supervisor for the gateway's tests: lends real listeners over the real call protocol."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from gateway.contract.calls import Answer, Peer, listen, serve
from tests.gateway.feed.memory import Bell


class FakeSupervisor:
    """Holds listeners. State: those by name and by port, ports that are busy, and who said `ready`."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.named: dict[str, socket.socket] = {}
        self.ports: dict[int, socket.socket] = {}
        self.busy: dict[int, str] = {}
        self.ready: list[int] = []
        self.asked: list[dict[str, Any]] = []
        self._held = ExitStack()

    def bind(self, name: str) -> int:
        """Binds a fixed listener on a free port, which is returned."""
        self.named[name] = self._held.enter_context(socket.create_server(("127.0.0.1", 0)))
        port: int = self.named[name].getsockname()[1]
        return port

    @asynccontextmanager
    async def running(self, run_dir: Path) -> AsyncIterator[None]:
        """Answers on `supervisor.sock` for as long as the block."""
        async with asyncio.TaskGroup() as group:
            with self._held, listen(str(run_dir / "supervisor.sock")) as listener:
                serving = group.create_task(serve(listener, self._answer, deadline_s=5))
                try:
                    yield
                finally:
                    serving.cancel()
                    await asyncio.wait([serving])

    async def _answer(self, message: bytes, peer: Peer) -> Answer:
        asked = json.loads(message)
        self.asked.append(asked)
        self.bell.ring()
        match asked:
            case {"verb": "ready"}:
                self.ready.append(peer.pid)
                self.bell.ring()
                return b'{"ok":true}', []
            case {"verb": "listener", "name": str(name)} if name in self.named:
                return b'{"ok":true}', [os.dup(self.named[name].fileno())]
            case {"verb": "listener", "port": int(port)} if port not in self.busy:
                if port not in self.ports:
                    self.ports[port] = self._held.enter_context(socket.create_server(("127.0.0.1", port)))
                return b'{"ok":true}', [os.dup(self.ports[port].fileno())]
        detail = self.busy.get(asked.get("port", 0), "there is no such listener")
        return json.dumps({"ok": False, "code": "busy", "detail": detail}).encode(), []


@asynccontextmanager
async def supervisor(run_dir: Path) -> AsyncIterator[FakeSupervisor]:
    """A running supervisor."""
    fake = FakeSupervisor()
    async with fake.running(run_dir):
        yield fake


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
