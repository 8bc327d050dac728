"""Reports of live visits: first everything, then what changed, in parts that stay small."""

from __future__ import annotations

from contextlib import AsyncExitStack

from gateway.contract.visits import VisitsReport
from gateway.core.refusals import Refusal
from gateway.wire import report
from gateway.wire.report import Told
from gateway.wire.visits import Visits
from tests.gateway import world

MINE = world.admission(world.entry(17))


def ignore(_refusal: Refusal) -> None:
    """A cut that nobody looks at."""


async def test_everything_first_then_what_changed() -> None:
    """An empty list is told too: it takes the place of what a predecessor told."""
    visits = Visits("web-0", now=lambda: 5.0)
    told = Told(visits)
    assert list(told.news()) == [VisitsReport(everything=True)]
    assert list(told.news()) == []
    async with visits.open(MINE, "http", "192.0.2.7", ignore) as visit:
        (first,) = told.news()
        assert not first.everything
        assert [(live.id, live.entry_id, live.user_name, live.address, live.since) for live in first.opened] == [
            (visit.id, 17, "alice", "192.0.2.7", 5.0)
        ]
        visit.count(3, 4)
        assert list(told.news()) == [VisitsReport(counts={visit.id: (3, 4)})]
        assert list(told.news()) == []
        (again,) = Told(visits).news()
        assert again.everything
        assert [live.outward for live in again.opened] == [4]
    assert list(told.news()) == [VisitsReport(gone=(visit.id,))]


async def test_a_visit_between_two_reports_is_never_told() -> None:
    """A flood of short visits costs the feed nothing."""
    visits = Visits("web-0")
    told = Told(visits)
    list(told.news())
    async with visits.open(MINE, "tcp", "192.0.2.7", ignore):
        pass
    assert list(told.news()) == []


async def test_a_full_house_is_told_in_parts() -> None:
    """Each of at most BATCH visits; only the first begins anew."""
    visits = Visits("web-0")
    async with AsyncExitStack() as stack:
        for _ in range(2 * report.BATCH + 1):
            await stack.enter_async_context(visits.open(MINE, "tcp", "192.0.2.7", ignore))
        told = Told(visits)
        parts = list(told.news())
        assert [len(part.opened) for part in parts] == [report.BATCH, report.BATCH, 1]
        assert [part.everything for part in parts] == [True, False, False]
    assert sum(len(part.gone) for part in told.news()) == 2 * report.BATCH + 1
