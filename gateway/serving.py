"""Runs what serves each listener, and ends it in order.

State: one task for each listener, by key. A service that fails is logged and started again: its
siblings and their visits do not notice.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway import cancellation
from gateway.contract.routes import Protocol

log = logging.getLogger(__name__)

_RESTART_S: Final = 1.0
_LAST_CALL_S: Final = 1.0

Serve = Callable[[socket.socket], Awaitable[None]]
"""Serves a listener until cancelled, and then lets its open visits go on for a while before it ends."""


@dataclass(frozen=True, slots=True)
class Services:
    """What one process serves: by the supervisor's name of a fixed listener, and by protocol for random ports."""

    fixed: Mapping[str, Serve]
    random: Mapping[Protocol, Callable[[int], Serve]]


class Serving:
    """The services of one process; their tasks belong to the given group."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        """The group ends no sooner than the services."""
        self._group = group
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def __contains__(self, key: Hashable) -> bool:
        """Whether the service of this key was started and not stopped."""
        return key in self._tasks

    def start(self, key: Hashable, listener: socket.socket, serve: Serve) -> None:
        """Serves the listener, which is closed with the service."""
        self._tasks[key] = self._group.create_task(_run(key, listener, serve))

    def stop(self, key: Hashable) -> None:
        """Has the service accept no more; it ends by itself once its visits have."""
        task = self._tasks.pop(key)
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def drain(self, patience_s: float, last_call: Callable[[], object]) -> None:
        """Stops all services and waits for them; after `patience_s` seconds `last_call` cuts what is left."""
        for key in list(self._tasks):
            self.stop(key)
        ending = set(self._ending)
        if ending:
            _, ending = await asyncio.wait(ending, timeout=patience_s)
        if ending:
            last_call()
            await asyncio.wait(ending, timeout=_LAST_CALL_S)


async def _run(key: Hashable, listener: socket.socket, serve: Serve) -> None:
    with listener:
        while True:
            try:
                await serve(listener)
            except Exception:  # whatever it is, the listener must be served again
                log.exception("service %s failed; starting it again", key)
            cancellation.pass_on()
            await asyncio.sleep(_RESTART_S)
