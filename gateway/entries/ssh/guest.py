"""What the channels of one signed-in connection share: who came, from where, where to, and their tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from gateway.core.decide import Admission
from gateway.core.grounds import user_ground
from gateway.core.refusals import Code, Refusal
from gateway.core.tickets import Visitor
from gateway.entries.ssh.protocol import Connection
from gateway.entries.ssh.routing import Routing
from gateway.wire.gate import Gate
from gateway.wire.visits import Visit

log = logging.getLogger(__name__)

CHANNELS_LIMIT: Final = 512
"""Channels of one connection, sessions and forwards together."""


class Cut(Exception):
    """The visit was cut, or there was no room for it. `refusal` is for the person."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


class Guest:
    """One signed-in connection."""

    def __init__(
        self,
        gate: Gate,
        connection: Connection,
        visitor: Visitor,
        routing: Routing,
        address: str,
        tasks: asyncio.TaskGroup,
    ) -> None:
        """`tasks` ends with the connection."""
        self.gate, self.connection, self.visitor = gate, connection, visitor
        self.routing, self.address = routing, address
        self._tasks = tasks
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs one channel's work. What it raises is logged and ends nothing but this channel."""
        task = self._tasks.create_task(self.guarded(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    @asynccontextmanager
    async def visit(self, admission: Admission, kind: str) -> AsyncIterator[Visit]:
        """One channel's visit. Open it right after decide(); when it is cut, its block ends and this raises Cut."""
        full = self.gate.room(admission.entry, self.address)
        if full is not None:
            self.gate.metrics.refused("ssh", full.code)
            raise Cut(full)
        why: list[Refusal] = []
        loop = asyncio.get_running_loop()

        def cut(refusal: Refusal) -> None:
            why.append(refusal)
            life.reschedule(loop.time())  # a deadline that nobody knew before

        try:
            async with (
                asyncio.timeout(None) as life,
                self.gate.visits.open(admission, kind, self.address, cut) as visit,
            ):
                yield visit
        except TimeoutError:
            if not why:
                raise
            raise Cut(why[0]) from None

    def leave(self) -> None:
        """Ends all work: the connection is gone."""
        for task in self._running:
            task.cancel()

    def full(self) -> Refusal | None:
        """Why no further channel may be opened, if so."""
        visits, limit = len(self.gate.visits), self.gate.config.visits_limit
        return Refusal(Code.BUSY) if visits >= limit or self.connection.channel_count >= CHANNELS_LIMIT else None

    def known(self) -> bool:
        """Whether the person and the credential that they signed in with still stand."""
        grounds = (user_ground(self.visitor.user_id or 0), *self.visitor.grounds)
        return all(self.gate.table.stands(ground, self.gate.now()) for ground in grounds)

    @property
    def language(self) -> str:
        """The language that the person chose in the console."""
        user = self.gate.table.user_by_name(self.visitor.name)
        return user.language if user is not None else "en"

    async def guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Does one channel's work. What it raises is logged and ends nothing else."""
        try:
            await work
        except Exception:
            log.exception("a channel of %s from %s failed", self.visitor.name, self.address)
