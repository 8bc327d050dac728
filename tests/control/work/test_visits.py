"""The live table: a level that each gateway tells anew, gone with it, and cuts that are answered."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from control.store.engine import Hints
from control.work import visits as room
from control.work.visits import Visits
from gateway.contract.visits import LiveVisit, VisitsReport


def live(name: str, entry_id: int = 17, since: float = 1.0) -> LiveVisit:
    """An open visit."""
    return LiveVisit(name, entry_id, 1, "alice", "192.0.2.7", "https", since, 0, 0)


def table(*told: LiveVisit) -> Visits:
    """A table that web-0 told these."""
    visits = Visits(Hints())
    visits.registered("web-0", "i1")
    visits.report("web-0", VisitsReport(everything=True, opened=told))
    return visits


def names(visits: Visits, entry_id: int = 17) -> list[str]:
    """Who is at the entry."""
    return [found.visit.id for found in visits.of_entry(entry_id)]


def test_visits_are_found_by_entry_the_oldest_first() -> None:
    """Bytes follow; what is gone is gone."""
    visits = table(live("b", since=2.0), live("a"), live("c", entry_id=18))
    assert names(visits) == ["a", "b"]
    visits.report("web-0", VisitsReport(counts={"a": (3, 4), "unknown": (1, 1)}, gone=("b",)))
    (found,) = visits.of_entry(17)
    assert (found.gateway, found.visit.inward, found.visit.outward) == ("web-0", 3, 4)
    assert (len(visits), visits.find("b"), visits.of_entry(99)) == (2, None, [])


def test_a_whole_list_replaces_what_was_told_before() -> None:
    """A level, not an edge: what was missed meanwhile is made good."""
    visits = table(live("a"), live("b"))
    visits.report("web-0", VisitsReport(everything=True, opened=(live("b"), live("c"))))
    assert names(visits) == ["b", "c"]


def test_visits_go_with_their_gateway() -> None:
    """A successor holds none of them; the same process that reconnects keeps them until it tells anew."""
    visits = table(live("a"))
    visits.registered("web-1", "i9")
    visits.report("web-1", VisitsReport(everything=True, opened=(live("z"),)))
    visits.registered("web-0", "i1")
    assert names(visits) == ["a", "z"]
    visits.registered("web-0", "i2")
    assert names(visits) == ["z"]
    visits.lost("web-1")
    assert len(visits) == 0


async def test_a_cut_is_answered_once_the_gateway_says_so() -> None:
    """And the order is told once."""
    visits = table(live("a"))
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        cutting = group.create_task(visits.cut("a", 5.0))
        assert await visits.cuts("web-0") == ["a"]
        visits.report("web-0", VisitsReport(gone=("a",)))
        assert await cutting
    assert await visits.cut("a", 0.0)


async def test_a_silent_gateway_is_told_of_at_the_deadline() -> None:
    """The visit stays in the list: nobody said that it ended."""
    visits = table(live("a"))
    assert not await visits.cut("a", 0.01)
    assert names(visits) == ["a"]


def test_one_gateway_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than it could ever hold are not kept."""
    monkeypatch.setattr(room, "VISITS_LIMIT", 1)
    visits = table(live("a"), dataclasses.replace(live("b")))
    assert names(visits) == ["a"]
