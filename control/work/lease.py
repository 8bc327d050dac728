"""Holding a lease for as long as this process works: the right to act, and the token that guards what is written.

State: the lease in hand.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from control.store import leases
from control.store.engine import Database
from control.store.leases import Held, LeaseLostError

log = logging.getLogger(__name__)

TERM_S: Final = 15.0
_RENEW_S: Final = 5.0

Work = Callable[[], Coroutine[Any, Any, None]]


class WorkLease:
    """The lease `name`, taken and renewed while `hold` runs."""

    def __init__(self, db: Database, name: str, holder: str, now: Callable[[], float]) -> None:
        """`holder` names the process, not the instance: a successor takes over at once."""
        self._db = db
        self._name = name
        self._holder = holder
        self._now = now
        self._held: Held | None = None

    async def hold(self, work: Work) -> None:
        """Runs `work` whenever the lease is ours, until cancelled; ends it when the lease is lost."""
        while True:
            await self._take()
            try:
                async with asyncio.TaskGroup() as group:
                    renewing, working = group.create_task(self._renew()), group.create_task(work())
                    # Waited for in the body: a group whose body has ended leaves its task marked as cancelled when
                    # a member fails (CPython 3.11, 3.12), and _pass_cancellation_on would believe it. For the
                    # same reason `work`, which may hold such a group, has a task of its own.
                    await asyncio.wait([working])
                    renewing.cancel()
            except* LeaseLostError:
                log.warning("lease %s is lost: another process works", self._name)
                # From now on like any other process: taking over under the same name is for successors,
                # and two processes of one name would take the lease from each other for ever.
                self._held, self._holder = None, f"{self._holder} overtaken {uuid4().hex}"
            _pass_cancellation_on()

    async def let_go(self) -> None:
        """Gives the lease back, so that another process need not wait until it ends. After this nothing is written."""
        if self._held is not None:
            async with self._db.write() as session:
                await leases.release(session, self._held)
            self._held = None

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """A write transaction that is good only while the lease is ours. Raises LeaseLostError when it is not."""
        if self._held is None:
            raise LeaseLostError(self._name)
        async with self._db.write() as session:
            await leases.guard(session, self._held, now=self._now())
            yield session

    async def _take(self) -> None:
        while True:
            try:
                async with self._db.write() as session:
                    self._held = await leases.take(session, self._name, self._holder, now=self._now(), term_s=TERM_S)
            except (OSError, TimeoutError, DBAPIError) as fault:  # a full disk, a database that is away
                self._held = None
                log.warning("lease %s could not be taken: %s", self._name, type(fault).__name__)
            if self._held is not None:
                return
            await asyncio.sleep(_RENEW_S)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            assert self._held is not None  # _take came before
            try:
                async with self._db.write() as session:
                    await leases.renew(session, self._held, now=self._now(), term_s=TERM_S)
            except (OSError, TimeoutError, DBAPIError) as fault:
                # Tried again; when the term ends meanwhile, `write` refuses what is applied too late.
                log.warning("lease %s could not be renewed: %s", self._name, type(fault).__name__)


def _pass_cancellation_on() -> None:
    # A TaskGroup that is cancelled while one of its tasks fails raises the fault only (CPython 3.11, 3.12).
    mine = asyncio.current_task()
    if mine is not None and mine.cancelling():
        raise asyncio.CancelledError
