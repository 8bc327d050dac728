"""Live visits: found by their grounds, cut at once, told in the journal at their end."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gateway.contract.routes import EntryLimits, Level
from gateway.core.refusals import Code, Refusal
from gateway.core.room import Crowd
from gateway.wire.visits import Visits
from tests.gateway import world

MINE = world.admission(world.entry(17))
OPEN = world.anonymous_admission(world.entry(18, level=Level.OPEN))


@pytest.fixture(autouse=True)
def _journal(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="gateway.visit")


def ignore(refusal: Refusal) -> None:
    """A cut that nobody looks at."""


async def test_a_withdrawn_ground_cuts_its_visits_and_no_others() -> None:
    """Each visit that rests on the ground is cut once, with the sentence's facts; the others go on."""
    visits, cuts = Visits("web-0"), list[tuple[str, Refusal]]()
    async with (
        visits.open(MINE, "http", "127.0.0.1", lambda no: cuts.append(("mine", no))),
        visits.open(MINE, "ssh", "127.0.0.1", lambda no: cuts.append(("ssh", no))),
        visits.open(OPEN, "http", "127.0.0.1", lambda no: cuts.append(("open", no))),
    ):
        assert visits.withdraw({"user:1", "job:jupyter-17", "nothing"}) == 3
        assert visits.withdraw({"entry:18"}) == 1
    assert [name for name, _ in cuts] == ["mine", "ssh", "open"]
    assert cuts[0][1] == Refusal(Code.WITHDRAWN, "jupyter-17", "web")


async def test_only_what_rests_on_the_ground_is_cut() -> None:
    """A raised level ends strangers' visits; the owner's goes on."""
    visits, cuts = Visits("web-0"), list[str]()
    async with (
        visits.open(MINE, "http", "127.0.0.1", lambda _: cuts.append("mine")),
        visits.open(OPEN, "http", "127.0.0.1", lambda _: cuts.append("open")),
    ):
        assert visits.withdraw({"entry:18:open"}) == 1
        assert cuts == ["open"]


async def test_a_visit_that_ended_is_cut_no_more() -> None:
    """Its grounds are forgotten with it."""
    visits = Visits("web-0")
    async with visits.open(MINE, "http", "127.0.0.1", ignore):
        assert len(visits) == 1
    assert len(visits) == 0
    assert visits.withdraw(MINE.grounds) == 0


async def test_a_cut_that_fails_does_not_save_the_others() -> None:
    """One visit's fault is logged; every other is cut all the same."""
    visits, cuts = Visits("web-0"), list[str]()

    def broken(refusal: Refusal) -> None:
        raise RuntimeError

    async with (
        visits.open(MINE, "http", "127.0.0.1", broken),
        visits.open(MINE, "http", "127.0.0.1", lambda _: cuts.append("second")),
    ):
        visits.withdraw({"user:1"})
        assert cuts == ["second"]


async def test_cut_all_ends_every_visit_with_the_reason() -> None:
    """The process is restarting: everybody hears of it, and waiting for none returns."""
    visits, heard = Visits("web-0"), asyncio.Event()

    def hear(refusal: Refusal) -> None:
        assert refusal.code is Code.RESTARTING
        heard.set()

    async with asyncio.TaskGroup() as group:
        async with visits.open(MINE, "http", "127.0.0.1", hear):
            waiting = group.create_task(visits.wait_none())
            assert visits.cut_all(Code.RESTARTING) == 1
            await heard.wait()
            assert not waiting.done()
        await waiting


async def test_the_journal_tells_a_visit_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Who, which entry and job, how much, and why it ended: one line, at the end."""
    visits = Visits("web-0")
    async with visits.open(MINE, "http", "192.0.2.7", ignore) as visit:
        visit.count(10, 2000)
        visit.count(5, 0)
        assert caplog.messages == []
    (line,) = caplog.messages
    assert line.startswith(
        "visit=web-0-1 entry=17 job=jupyter-17 user=1 via=session protocol=http from=192.0.2.7 seconds="
    )
    assert line.endswith("in=15 out=2000 end=ended")


async def _fail(visits: Visits) -> None:
    async with visits.open(OPEN, "tcp", "127.0.0.1", ignore):
        raise ConnectionResetError


async def _withdraw(visits: Visits) -> None:
    async with visits.open(OPEN, "tcp", "127.0.0.1", ignore):
        visits.withdraw({"entry:18:open"})
        raise asyncio.CancelledError


async def test_the_journal_tells_why_a_visit_ended(caplog: pytest.LogCaptureFixture) -> None:
    """A fault by its name; a cut by its code, whatever exception it travelled as."""
    visits = Visits("web-0")
    with pytest.raises(ConnectionResetError):
        await _fail(visits)
    with pytest.raises(asyncio.CancelledError):
        await _withdraw(visits)
    assert [line.rpartition(" ")[2] for line in caplog.messages] == ["end=ConnectionResetError", "end=withdrawn"]
    assert all("user=- via=none" in line for line in caplog.messages)


async def test_ending_a_visit_twice_cuts_it_once() -> None:
    """The first reason stands."""
    cuts: list[Refusal] = []
    async with Visits("web-0").open(MINE, "http", "127.0.0.1", cuts.append) as visit:
        visit.end(Refusal(Code.WITHDRAWN))
        visit.end(Refusal(Code.RESTARTING))
    visit.end(Refusal(Code.RESTARTING))
    assert cuts == [Refusal(Code.WITHDRAWN)]
    assert visit.reason == Code.WITHDRAWN


async def test_visits_of_entries_with_limits_are_told_as_they_come_and_go() -> None:
    """So that other processes can count them; a visit that makes way for another does not count beside it."""
    held: list[tuple[int, int]] = []
    visits = Visits("web-0", hold=lambda entry, count: held.append((entry, count)))
    limited = world.admission(world.entry(17, limits=EntryLimits(connections=1)))
    async with visits.open(limited, "http", "127.0.0.1", ignore) as visit:
        assert visits.crowd(17, "127.0.0.1", without=visit) == Crowd(0, 0, 0)
        assert visits.crowd(18, "127.0.0.1", without=visit) == Crowd(0, 0, 0)
        assert visits.crowd(17, "127.0.0.2") == Crowd(1, 1, 0)
        async with visits.open(OPEN, "http", "127.0.0.1", ignore):
            pass
    assert held == [(17, 1), (17, 0)]
    assert visits.crowd(17, "127.0.0.1", without=visit) == Crowd(0, 0, 0)
