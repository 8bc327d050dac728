"""Keeps this process listening on the random ports that entries ask for.

State: which of them could not be had. The supervisor binds a port when it is first asked for; one
that somebody else holds is reported to control, shown there, and tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from gateway.contract.routes import Protocol
from gateway.core.table import Table
from gateway.listeners import Listeners, PortBusyError
from gateway.serving import Serve, Serving

log = logging.getLogger(__name__)

RETRY_S: Final = 5.0

Place = tuple[int, Protocol]
Report = Callable[[Mapping[int, str]], Awaitable[None]]


class RandomPorts:
    """The random ports of one process."""

    def __init__(
        self,
        table: Table,
        listeners: Listeners,
        serving: Serving,
        *,
        services: Mapping[Protocol, Callable[[int], Serve]],
        report: Report,
        retry_s: float = RETRY_S,
    ) -> None:
        """`services` makes, for each protocol that this process serves, the service of a port."""
        self._table = table
        self._listeners = listeners
        self._serving = serving
        self._services = services
        self._report = report
        self._retry_s = retry_s
        self._held: set[Place] = set()
        self._failed: dict[int, str] = {}
        self._edited = asyncio.Event()

    def edited(self) -> None:
        """The table changed."""
        self._edited.set()

    async def follow(self) -> None:
        """Follows the table until cancelled."""
        while True:
            self._edited.clear()
            await self._settle()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._retry_s if self._failed else None):
                    await self._edited.wait()

    async def _settle(self) -> None:
        wanted = {place for place in self._table.random_ports().items() if place[1] in self._services}
        for place in self._held - wanted:
            self._held.discard(place)
            self._serving.stop(place)
        failed: dict[int, str] = {}
        for place in sorted(wanted - self._held):
            fault = await self._open(place)
            if fault is not None:
                failed[place[0]] = fault
        if failed != self._failed:
            self._failed = failed
            await self._report(failed)

    async def _open(self, place: Place) -> str | None:
        """Serves the port; returns why not when it cannot be had."""
        port, protocol = place
        try:
            listener = await self._listeners.on_port(port)
        except PortBusyError as fault:
            log.warning("port %d is busy: %s", port, fault)
            return str(fault)
        except (OSError, TimeoutError) as fault:
            log.warning("port %d: the supervisor does not answer: %s", port, fault)
            return "unavailable"
        self._serving.start(place, listener, self._services[protocol](port))
        self._held.add(place)
        return None
