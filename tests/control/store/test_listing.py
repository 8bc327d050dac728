"""Lists: narrowed, sorted and paged by the database, alike on both."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import UNCLOSED_SHOWN_S, State, is_running_view
from control.store import jobs, listing
from control.store.engine import Database
from control.store.listing import JobFilter
from tests.control.store.conftest import AddJob, AddUser

NOW = 1_000_000.0


async def numbers(db: Database, **asked: Any) -> list[int]:
    """The numbers of the jobs that match."""
    async with db.read() as session:
        rows, total = await listing.page(
            session, JobFilter(**({"owner_id": None} | asked)), offset=0, limit=50, now=NOW
        )
    assert total == len(rows)
    return [row.number for row in rows]


@pytest.fixture
async def filled(db: Database, add_user: AddUser, add_job: AddJob) -> Database:
    """Five jobs of two people."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        await add_job(session, alice, 1.0, name="Training")
        failed = await add_job(session, alice, 2.0, name="train_2")
        old = await add_job(session, bob, 3.0, name="web")
        closed = await add_job(session, bob, 4.0, name="100%-web", partition="gpu")
        done = await add_job(session, bob, 5.0, name="web", cluster="far")
        ends = ((failed, NOW), (old, NOW - UNCLOSED_SHOWN_S), (closed, NOW))
        for job, at in ends:
            await jobs.transition(session, job, State.ABNORMAL_EXIT, NewEvent(EventCode.KILLED), at)
        await jobs.transition(session, done, State.FINISHED, NewEvent(EventCode.FINISHED), NOW)
        await jobs.close_ended(session, closed, "bob", NOW)
    return db


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [5, 4, 3, 2, 1]),
        ({"sort": "id"}, [1, 2, 3, 4, 5]),
        ({"sort": "-name", "name": "web"}, [5, 3, 4]),
        ({"sort": "ended_at"}, [3, 2, 4, 5, 1]),
        ({"owner_id": 1}, [2, 1]),
        ({"view": "running"}, [2, 1]),
        ({"view": "history"}, [5, 4, 3]),
        ({"name": "TRAIN"}, [2, 1]),
        ({"name": "_"}, [2]),
        ({"name": "%"}, [4]),
        ({"id": "web-3"}, [3]),
        ({"cluster": "far"}, [5]),
        ({"partition": "gpu"}, [4]),
        ({"states": (State.FINISHED, State.QUEUED)}, [5, 1]),
        ({"submitted_after": 2.0, "submitted_before": 4.0}, [3, 2]),
    ],
)
async def test_filters_and_orders(filled: Database, asked: dict[str, Any], found: list[int]) -> None:
    """Each filter, with ties broken by number and missing values last."""
    assert await numbers(filled, **asked) == found


async def test_view_in_the_database_is_the_view_of_the_domain(filled: Database) -> None:
    """Two ways to say one rule must say the same."""
    running = set(await numbers(filled, view="running"))
    async with filled.read() as session:
        rows, _ = await listing.page(session, JobFilter(None), offset=0, limit=50, now=NOW)
    for row in rows:
        shown = is_running_view(row.state, closed=row.closed_at is not None, ended_at=row.ended_at, now=NOW)
        assert shown is (row.number in running)


async def test_pages_neither_repeat_nor_skip(filled: Database) -> None:
    """Equal sort keys included."""
    seen = []
    async with filled.read() as session:
        for offset in range(0, 6, 2):
            rows, total = await listing.page(session, JobFilter(None, sort="state"), offset=offset, limit=2, now=NOW)
            seen += [row.number for row in rows]
            assert total == 5
    assert sorted(seen) == [1, 2, 3, 4, 5]


async def test_unknown_sort_is_refused(filled: Database) -> None:
    """Nothing but the listed columns ever reaches ORDER BY."""
    with pytest.raises(KeyError):
        await numbers(filled, sort="command")
