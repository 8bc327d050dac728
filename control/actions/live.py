"""What changed for a person, told as it happens: their jobs by revision, and hints to look at other things again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from control.actions.context import Context, Person
from control.actions.jobs import JobSeen, seen
from control.store import counters, jobs, people, shares
from control.store.engine import Hints

_BATCH: Final = 50


@dataclass(slots=True)
class News:
    """What was told since it was last taken; `jobs` means that some job changed, not necessarily one of ours."""

    jobs: bool = False
    shared: bool = False
    account: bool = False


@dataclass(slots=True)
class Watch:
    """Collects hints for one person. Bounded: however many come, there are three flags."""

    news: News = field(default_factory=News)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, deadline_s: float) -> News:
        """What was told, once something was or the deadline passed."""
        try:
            async with asyncio.timeout(deadline_s):
                await self.told.wait()
        except TimeoutError:
            pass
        taken, self.news = self.news, News()
        self.told.clear()
        return taken


@asynccontextmanager
async def watch(hints: Hints, who: Person) -> AsyncIterator[Watch]:
    """Collects hints for `who` for as long as the block runs."""
    watched = Watch()
    mine = str(who.id)
    unlisten = [
        hints.listen(jobs.TOPIC, _set(watched, "jobs", None)),
        hints.listen(shares.GRANT_TOPIC, _set(watched, "shared", mine)),
        hints.listen(people.USER_TOPIC, _set(watched, "account", mine)),
    ]
    try:
        yield watched
    finally:
        for stop in unlisten:
            stop()


async def head(ctx: Context) -> int:
    """The revision of the latest change."""
    async with ctx.db.read() as session:
        return await counters.current(session, counters.LIVE)


async def changes(ctx: Context, who: Person, after: int, *, everyone: bool) -> tuple[list[JobSeen], int]:
    """Jobs changed after a revision, in that order, and the revision they reach; `everyone` is for administrators."""
    async with ctx.db.read() as session:
        owner_id = None if everyone and who.is_admin else who.id
        rows = await jobs.changed_after(session, after, owner_id, limit=_BATCH)
        return await seen(session, ctx, who, rows), rows[-1].revision if rows else after


def _set(watched: Watch, flag: str, key: str | None) -> Callable[[str], None]:
    def told(told_key: str) -> None:
        if key is None or told_key == key:
            setattr(watched.news, flag, True)
            watched.told.set()

    return told
