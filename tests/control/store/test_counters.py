"""Counters count."""

from __future__ import annotations

from control.store import counters
from control.store.engine import Database


async def test_counters_begin_at_one_and_do_not_mix(db: Database) -> None:
    """Each name counts for itself."""
    async with db.write() as session:
        assert await counters.current(session, "a") == 0
        assert [await counters.next_number(session, "a") for _ in range(3)] == [1, 2, 3]
        assert await counters.next_number(session, "b") == 1
        assert await counters.current(session, "a") == 3
