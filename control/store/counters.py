"""Numbers given out one after another, in the transaction that uses them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from control.store.tables import Counter

FEED: Final = "feed"
JOB: Final = "job"
LIVE: Final = "live"


async def next_number(session: AsyncSession, name: str) -> int:
    """The next number of a counter. Writers take turns, so numbers appear in the order of commits."""
    raised = await session.execute(
        update(Counter).where(Counter.name == name).values(value=Counter.value + 1).returning(Counter.value)
    )
    value = raised.scalar_one_or_none()
    if value is None:
        session.add(Counter(name=name, value=1))
        await session.flush()
        return 1
    return value


async def current(session: AsyncSession, name: str) -> int:
    """The last number given out; 0 when there was none."""
    return await session.scalar(select(Counter.value).where(Counter.name == name)) or 0
