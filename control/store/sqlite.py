"""The SQLite driver's connection, mended in two points: closed while it is being closed, opened by two at once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import aiosqlite

_CHUNK_ROWS: Final = 64
_RETRY_S: Final = 0.02


class Connection(aiosqlite.Connection):
    """A connection whose thread is told to stop only once.

    aiosqlite waits for the thread's answer to each `stop`; to the second one there is none, because
    the thread has ended. A task that is cancelled twice within a statement makes SQLAlchemy close the
    connection politely and by force at once, and left one task pending for ever, on which the end of
    the process then waited.
    """

    def __init__(self, opened: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(opened, _CHUNK_ROWS)
        self._is_stopped = False
        self._thread.daemon = True  # an abandoned connection must not keep the process alive

    def stop(self) -> asyncio.Future[Any] | None:
        """Ends the thread after what it has to do; None when it was told so before."""
        if self._is_stopped:
            return None
        self._is_stopped = True
        return super().stop()


async def connect(path: str, busy_s: float) -> Connection:
    """An open connection in autocommit mode: who uses it says BEGIN. `busy_s`: seconds to wait for other writers."""
    opened = partial(sqlite3.connect, path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    connection = Connection(opened)
    await connection
    try:
        await _write_ahead(connection, busy_s)
    except BaseException:
        await connection.close()
        raise
    return connection


async def _write_ahead(connection: Connection, busy_s: float) -> None:
    """Has the file keep a write-ahead log, so that readers and the writer do not wait for each other.

    Two connections that change a new file to it at once: one is told "locked" without any waiting,
    whatever its timeout says. Raises sqlite3.OperationalError when it stays so for `busy_s`.
    """
    tries = max(1, int(busy_s / _RETRY_S))
    for left in reversed(range(tries)):
        try:
            await connection.execute_fetchall("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as fault:
            if not left or "locked" not in str(fault):
                raise
        await asyncio.sleep(_RETRY_S)
