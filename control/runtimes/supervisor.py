"""What a worker asks of the supervisor, which owns all ports: listeners, random ports, "I serve"."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from gateway.contract import calls

SOCKET: Final = "supervisor.sock"
_CALL_S: Final = 5.0
_PORTS_AT_ONCE: Final = 5_000
"""Ports in one message, which is bounded."""


class BusyError(OSError):
    """The port is held by someone else; the message names the holder if it is known."""


class Supervisor:
    """A client of the supervisor's socket. Holds no state."""

    def __init__(self, run_dir: Path) -> None:
        self._socket = str(run_dir / SOCKET)

    async def listener(self, name: str) -> socket.socket:
        """The listening socket `name`, now the caller's to close; the supervisor keeps its own."""
        descriptors = await self._ask({"verb": "listener", "name": name})
        if len(descriptors) != 1:
            raise ConnectionError(f"the supervisor gave no listener for {name}")
        return socket.socket(fileno=descriptors[0])

    async def reserve(self, port: int) -> None:
        """Has the supervisor bind a random port. Raises BusyError when it cannot."""
        await self._ask({"verb": "reserve", "port": port})

    async def release(self, port: int) -> None:
        """Gives a random port back."""
        await self._ask({"verb": "release", "port": port})

    async def keep(self, ports: Iterable[int]) -> None:
        """Has the supervisor give up every random port but these, and but those that it bound just now."""
        ordered, first = sorted(ports), 1
        for at in range(0, max(len(ordered), 1), _PORTS_AT_ONCE):
            some = ordered[at : at + _PORTS_AT_ONCE]
            last = some[-1] if at + _PORTS_AT_ONCE < len(ordered) else 65_535
            await self._ask({"verb": "keep", "ports": some, "first": first, "last": last})
            first = last + 1

    async def ready(self) -> None:
        """Says that this process serves."""
        await self._ask({"verb": "ready"})

    async def _ask(self, request: dict[str, Any]) -> list[int]:
        """The answer's descriptors. Raises ConnectionError or TimeoutError without one, BusyError for a busy port."""
        message, descriptors = await calls.call(self._socket, json.dumps(request).encode(), deadline_s=_CALL_S)
        answer = json.loads(message)
        if answer.get("ok") is True:
            return descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        if answer.get("code") == "busy":
            raise BusyError(str(answer.get("detail", "")))
        raise ConnectionError(f"the supervisor refused {request}: {answer.get('detail')}")
