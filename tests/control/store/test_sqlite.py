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
