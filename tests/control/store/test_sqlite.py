"""A connection may be closed twice at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from control.store.sqlite import connect


async def test_stopping_while_closing_leaves_nothing_to_wait_for(tmp_path: Path) -> None:
    """Politely and by force at the same time: both end."""
    connection = await connect(str(tmp_path / "x.db"), 1.0)
    async with asyncio.timeout(5):
        closing = asyncio.gather(connection.close())
        await asyncio.sleep(0)
        connection.stop()
        await closing
        await asyncio.to_thread(connection._thread.join)  # it answers this loop until its last word
    assert connection.stop() is None


async def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """All of them end up with a write-ahead log: none is told that the file is locked."""
    for number in range(10):
        opened = await asyncio.gather(*(connect(str(tmp_path / f"{number}.db"), 5.0) for _ in range(6)))
        for connection in opened:
            assert list(await connection.execute_fetchall("PRAGMA journal_mode")) == [("wal",)]
            await connection.close()
