"""Client of the supervisor, which owns every listening socket and lends them to its workers."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any, Final

from gateway.contract.calls import call

_CALL_S: Final = 5.0


class PortBusyError(Exception):
    """The supervisor could not bind a random port; the message says who holds it, if known."""


class Listeners:
    """Listening sockets on loan. Each socket is the caller's own descriptor of the supervisor's listener."""

    def __init__(self, run_dir: Path) -> None:
        """`run_dir` is where `supervisor.sock` lies."""
        self._path = str(run_dir / "supervisor.sock")

    async def named(self, name: str) -> socket.socket:
        """The listener of this name (`http`, `https`, `console`, `ssh`). Raises OSError or TimeoutError."""
        answer, listener = await self._call({"verb": "listener", "name": name})
        if listener is None:
            raise ConnectionError(f"the supervisor lends no {name} listener: {answer.get('detail')}")
        return listener

    async def on_port(self, port: int) -> socket.socket:
        """The listener of a random port, bound on first asking. Raises PortBusyError, OSError or TimeoutError."""
        answer, listener = await self._call({"verb": "listener", "port": port})
        if listener is None:
            raise PortBusyError(str(answer.get("detail") or answer.get("code")))
        return listener

    async def ready(self) -> None:
        """Tells the supervisor that this process serves. Raises OSError or TimeoutError."""
        await self._call({"verb": "ready"})

    async def _call(self, question: dict[str, Any]) -> tuple[dict[str, Any], socket.socket | None]:
        reply, descriptors = await call(self._path, json.dumps(question).encode(), deadline_s=_CALL_S)
        for spare in descriptors[1:]:
            os.close(spare)
        listener = socket.socket(fileno=descriptors[0]) if descriptors else None
        if listener is not None:
            listener.setblocking(False)
        answer = json.loads(reply)
        return (answer if isinstance(answer, dict) else {}), listener


async def patiently(listeners: Listeners, name: str, *, tries_s: float) -> socket.socket:
    """The named listener, asked for again while the supervisor does not answer, for `tries_s` seconds at most.

    Raises TimeoutError.
    """
    async with asyncio.timeout(tries_s):
        while True:
            try:
                return await listeners.named(name)
            except OSError:
                await asyncio.sleep(0.1)
