"""The database and its transactions: SQLite at home, PostgreSQL in production, alike to everyone above.

Holds state: the connection pool, the write lock and the hints. Writers take turns on both databases
(BEGIN IMMEDIATE there, an advisory lock here), so a transaction that read something may write what
follows from it, and revisions are given out in the order of commits. A write transaction is short: it
awaits nothing but the database.

Every difference between the two databases lives in this file, beside `leases.py`.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import Select, event, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from control.store import sqlite

WRITE_WAIT_S: Final = 15.0
"""How long a write transaction waits for its turn before TimeoutError."""
_BUSY_S: Final = 10.0
_ADVISORY_KEY: Final = 0x57A2_11C7
_POOL: Final = 8
_HINTS: Final = "hints"
_WRITES: Final = "starlight_writes"
_T = TypeVar("_T")


class Hints:
    """Tells the loops of this process that something changed, after the commit that changed it.

    A hint saves waiting, never carries truth: who missed one finds the change when it next looks.
    Per topic it counts generations, so that `wait` cannot miss what came between look and wait.
    """

    def __init__(self) -> None:
        self._generations: dict[str, int] = defaultdict(int)
        self._waiters: dict[str, asyncio.Event] = {}
        self._listeners: dict[str, list[Callable[[str], None]]] = defaultdict(list)

    def generation(self, topic: str) -> int:
        """How often `topic` was told. Read it before looking at the database."""
        return self._generations[topic]

    def tell(self, topic: str, key: str = "") -> None:
        """Wakes everyone who waits for `topic` and calls its listeners with `key`."""
        self._generations[topic] += 1
        waiter = self._waiters.pop(topic, None)
        if waiter is not None:
            waiter.set()
        for listener in tuple(self._listeners[topic]):
            listener(key)

    async def wait(self, topic: str, seen: int) -> int:
        """Returns the generation of `topic` once it is no longer `seen`. The caller brings the deadline."""
        while self._generations[topic] == seen:
            await self._waiters.setdefault(topic, asyncio.Event()).wait()
        return self._generations[topic]

    def listen(self, topic: str, listener: Callable[[str], None]) -> Callable[[], None]:
        """Calls `listener(key)` at each hint on `topic` until the returned function is called. It must not block."""
        self._listeners[topic].append(listener)
        return lambda: self._listeners[topic].remove(listener)


class Database:
    """One database; `read` and `write` lend a session that is one transaction."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.hints = Hints()
        self._turn = asyncio.Lock()
        self._readers = async_sessionmaker(engine, expire_on_commit=False)
        self._writers = async_sessionmaker(_for_writers(engine), expire_on_commit=False)

    @property
    def is_sqlite(self) -> bool:
        """Whether this is the embedded database."""
        return self.engine.dialect.name == "sqlite"

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """A consistent view; nothing written in it is kept."""
        async with self._readers() as session:
            yield session

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """One transaction, committed at the end of the block or rolled back when it raises.

        Hints told through `tell` go out after the commit. Raises TimeoutError when the turn does not
        come within WRITE_WAIT_S.
        """
        async with asyncio.timeout(WRITE_WAIT_S):
            await self._turn.acquire()
        try:
            async with self._writers() as session, session.begin():
                yield session
        finally:
            self._turn.release()
        for topic, key in dict.fromkeys(session.info.get(_HINTS, ())):
            self.hints.tell(topic, key)

    async def close(self) -> None:
        """Closes all connections."""
        await self.engine.dispose()


def tell(session: AsyncSession, topic: str, key: str = "") -> None:
    """Has the hint sent once this transaction is committed."""
    session.info.setdefault(_HINTS, []).append((topic, key))


async def first(session: AsyncSession, rows: Select[tuple[_T]]) -> _T | None:
    """The first of `rows`, or None. (`AsyncSession.scalar` forgets the type.)"""
    found: _T | None = await session.scalar(rows.limit(1))
    return found


def make_engine(url: str) -> AsyncEngine:
    """The engine for `sqlite:///path` or `postgresql://...`; the async drivers are put in when the URL names none.

    Raises ValueError for any other database.
    """
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            engine = create_async_engine(
                parsed.set(drivername="sqlite+aiosqlite"),
                pool_size=_POOL,
                max_overflow=0,
                async_creator=partial(sqlite.connect, parsed.database or "", _BUSY_S),
            )
            event.listen(engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(engine.sync_engine, "begin", _begin_sqlite)
        case "postgresql":
            engine = create_async_engine(
                parsed.set(drivername="postgresql+asyncpg"),
                pool_size=_POOL,
                max_overflow=0,
                pool_pre_ping=True,
                connect_args={"timeout": WRITE_WAIT_S, "command_timeout": 2 * WRITE_WAIT_S},
                isolation_level="REPEATABLE READ",
            )
            event.listen(engine.sync_engine, "begin", _begin_postgresql)
        case other:
            raise ValueError(f"the database must be sqlite or postgresql, not {other}")
    return engine


def _for_writers(engine: AsyncEngine) -> AsyncEngine:
    if engine.dialect.name == "sqlite":
        return engine.execution_options(**{_WRITES: True})
    # Under REPEATABLE READ the snapshot would be taken by the statement that waits for the turn: the writer
    # would not see what those before it in the queue wrote.
    return engine.execution_options(**{_WRITES: True, "isolation_level": "READ COMMITTED"})


def _prepare_sqlite(connection: Any, _record: Any) -> None:  # the driver's own connection type is private
    cursor = connection.cursor()
    for pragma in ("foreign_keys=ON", "synchronous=FULL"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES, False):
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_KEY})
