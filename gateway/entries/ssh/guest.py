"""What the channels of one signed-in connection share: who came, from where, where to, and their tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncssh

from gateway.core.authorized_keys import UNCONDITIONAL
from gateway.core.decide import Admission
from gateway.core.grounds import user_ground
from gateway.core.refusals import Code, Refusal, sentence
from gateway.core.tickets import Visitor
from gateway.entries.ssh.home_keys import FRESH_S, HomeKey, HomeKeys
from gateway.entries.ssh.protocol import Connection
from gateway.entries.ssh.routing import Routing
from gateway.wire.gate import Gate
from gateway.wire.visits import Visit

log = logging.getLogger(__name__)

_LAST_WORDS_S: Final = 1.0
_IDLE_LOOK_S: Final = 15.0
STANDING_S: Final = 5.0
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
        home_key: HomeKey | None = None,
    ) -> None:
        """`tasks` ends with the connection. `home_key` is what the person signed in with, if it was such a one."""
        self.gate, self.connection, self.visitor = gate, connection, visitor
        self.routing, self.address = routing, address
        self.home_key = home_key
        self.conditions = UNCONDITIONAL if home_key is None else home_key.line.conditions
        self._ending: Refusal | None = None
        self._moved = 0
        self._visits: set[Visit] = set()
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
                self._visits.add(visit)
                try:
                    yield visit
                finally:
                    self._visits.discard(visit)
                    self._moved += 1 + sum(visit.counts())  # a visit that came and went is no silence
        except TimeoutError:
            if not why:
                raise
            raise Cut(why[0]) from None

    async def watch(self) -> None:
        """Ends the connection once its person, or what they signed in with, does not stand any more.

        Channels are cut by their grounds at once; this is for a connection that has none, and would stay for ever.
        """
        while True:
            await asyncio.sleep(STANDING_S)
            if not self.known():
                return await self._end(Code.WITHDRAWN)

    async def watch_home_key(self, key: HomeKey, home_keys: HomeKeys) -> None:
        """Ends what rests on a home's key, and then the connection, as soon as that key does not admit any more."""
        while True:
            await asyncio.sleep(FRESH_S)
            if await home_keys.gone(key, self.address):
                return await self._end(Code.WITHDRAWN)

    async def end_when_idle(self, idle_s: float) -> None:
        """Ends the connection once no byte has gone either way, over any of its channels, for `idle_s` seconds."""
        loop = asyncio.get_running_loop()
        seen, since = -1, loop.time()
        while loop.time() - since < idle_s:
            await asyncio.sleep(min(idle_s / 4, _IDLE_LOOK_S))
            moved = self._moved + sum(sum(visit.counts()) for visit in self._visits)
            if moved != seen:
                seen, since = moved, loop.time()
        await self._end(Code.IDLE)

    def count(self, inward: int, outward: int) -> None:
        """Bytes that went over the connection and belong to no visit of its own: a jump's."""
        self._moved += inward + outward

    async def _end(self, code: Code) -> None:
        """Cuts every visit, lets the person read why, and ends the connection. Nothing is opened meanwhile."""
        if self._ending is not None:
            return
        self._ending = Refusal(code)
        for visit in list(self._visits):
            entry = visit.admission.entry
            visit.end(Refusal(code, entry.job_id, entry.name))
        await asyncio.sleep(_LAST_WORDS_S)
        self.connection.disconnect(asyncssh.DISC_BY_APPLICATION, sentence(self._ending, self.language))

    def leave(self) -> None:
        """Ends all work: the connection is gone."""
        for task in self._running:
            task.cancel()

    def full(self) -> Refusal | None:
        """Why no further channel may be opened, if so."""
        if self._ending is not None:
            return self._ending
        visits, limit = len(self.gate.visits), self.gate.config.visits_limit
        return Refusal(Code.BUSY) if visits >= limit or self.connection.channel_count >= CHANNELS_LIMIT else None

    def known(self) -> bool:
        """Whether the person and the credential that they signed in with still stand."""
        if self._ending is not None:
            return False
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
