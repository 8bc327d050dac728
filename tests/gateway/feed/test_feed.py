"""The gateway's end of the feed against the real control end, through restarts, silence and disorder."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.contract.calls import listen
from gateway.contract.feed import Question
from gateway.contract.slices import encoded, slice_line
from gateway.contract.visits import VisitsReport
from gateway.core.listing import Listing
from gateway.core.table import Table
from gateway.feed import feed as feed_module
from gateway.feed.feed import Feed, Reports
from gateway.feed.lines import Lines
from gateway.feed.served import FeedServer
from gateway.feed.socket import connected
from tests.gateway import world
from tests.gateway.feed.memory import Bell, MemorySource
from tests.gateway.world import NOW

pytestmark = pytest.mark.timeout(30)


class Gateway:
    """A feed with its table, and what it was told to cut."""

    def __init__(self, path: Path, *, beat_s: float = 0.05, silence_s: float = 5.0, ask_s: float = 5.0) -> None:
        self.table = Table()
        self.bell = Bell()
        self.withdrawn: list[frozenset[str]] = []
        self.news: list[VisitsReport] = []
        self.cut: list[str] = []
        self.feed = Feed(
            self.table,
            lambda: connected(str(path / "feed.sock"), deadline_s=5),
            name="web-0",
            role="web",
            instance="i1",
            edited=self._edited,
            now=lambda: NOW,
            ask_s=ask_s,
            reports=Reports(lambda: lambda: self.news, lambda: "counts", self._cut),
            beat_s=beat_s,
            silence_s=silence_s,
        )

    async def holds(self, revision: int) -> None:
        """Returns once the table holds this revision."""
        await self.bell.until(lambda: self.table.revision == revision)

    def _cut(self, visit: str) -> bool:
        self.cut.append(visit)
        return visit == "open"

    def _edited(self, grounds: frozenset[str]) -> None:
        self.withdrawn.append(grounds)
        self.bell.ring()


@asynccontextmanager
async def running(gateway: Gateway) -> AsyncIterator[None]:
    """The feed runs for as long as the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(gateway.feed.run())
        yield
        task.cancel()


@asynccontextmanager
async def control(listener: socket.socket, source: MemorySource) -> AsyncIterator[None]:
    """A control process on the supervisor's listener; at the end it is gone, all its connections with it."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(FeedServer(listener, source, beat_s=0.05).run())
        yield
        task.cancel()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """The listener that the supervisor holds, whoever serves it."""
    with listen(str(tmp_path / "feed.sock"), kind=socket.SOCK_STREAM) as sock:
        yield sock


async def test_the_table_follows_control(tmp_path: Path, listener: socket.socket) -> None:
    """List, then changes: the table holds what control holds, and each revision is acknowledged."""
    source, gateway = MemorySource(world.user(), world.job(), world.entry()), Gateway(tmp_path)
    async with control(listener, source), running(gateway):
        await gateway.feed.listed()
        assert gateway.table.entry(17) == world.entry()
        assert gateway.table.confirmed_at == NOW
        await source.acknowledged_by("web-0", source.put(world.user(2, "bob")))
        assert gateway.table.user_by_name("bob") == world.user(2, "bob")
        assert gateway.feed.online


async def test_what_is_withdrawn_is_told_before_it_is_acknowledged(tmp_path: Path, listener: socket.socket) -> None:
    """When control reads the acknowledgement, the visits have been cut."""
    source, gateway = MemorySource(world.user(), world.grant()), Gateway(tmp_path)
    async with control(listener, source), running(gateway):
        await gateway.feed.listed()
        assert gateway.withdrawn == [frozenset()]
        await source.acknowledged_by("web-0", source.drop(world.grant()))
        assert gateway.withdrawn == [frozenset(), frozenset({"grant:45"})]


async def test_control_killed_during_a_watch_is_found_again(tmp_path: Path, listener: socket.socket) -> None:
    """What was withdrawn meanwhile is withdrawn at the next list; the table serves on in between."""
    source, gateway = MemorySource(world.user(), world.grant(), world.entry()), Gateway(tmp_path)
    async with running(gateway):
        async with control(listener, source):
            await gateway.feed.listed()
        source.drop(world.grant())
        source.put(world.user(2, "bob"))
        assert gateway.table.entry(17) == world.entry()
        async with control(listener, source):
            await gateway.holds(5)
            assert gateway.withdrawn[-1] == {"grant:45"}
            assert gateway.table.user(2) == world.user(2, "bob")


async def test_another_database_replaces_everything(tmp_path: Path, listener: socket.socket) -> None:
    """A new epoch begins with lower revisions: the list is taken as it is."""
    older, newer = (
        MemorySource(world.user(), world.user(2, "bob"), world.user(3, "carol")),
        MemorySource(world.user(7, "g")),
    )
    newer.epoch = "epoch-2"
    gateway = Gateway(tmp_path)
    async with running(gateway):
        async with control(listener, older):
            await gateway.holds(3)
        async with control(listener, newer):
            await gateway.holds(1)
            assert gateway.withdrawn[-1] == {"user:1", "user:2", "user:3"}


async def test_a_watch_that_is_gone_lists_again(tmp_path: Path, listener: socket.socket) -> None:
    """Too far behind: the same connection lists once more and goes on watching."""
    source, gateway = MemorySource(world.user()), Gateway(tmp_path)
    async with control(listener, source), running(gateway):
        await gateway.feed.listed()
        source.horizon = 2
        source.put(world.user(2, "bob"))
        await source.acknowledged_by("web-0", 2)
        await source.acknowledged_by("web-0", source.put(world.user(3, "carol")))
        assert source.heard == [("registered", "web-0", "web", "i1"), ("ports", "web-0", {}), ("ports", "web-0", {})]


async def test_nothing_is_acknowledged_before_the_list(tmp_path: Path, listener: socket.socket) -> None:
    """A table loaded from disk, or held since before, counts for nothing until control's list is in place."""
    gateway = Gateway(tmp_path, beat_s=0.01)
    gateway.table.replace([world.user()], 99)
    async with running(gateway), bare_control(listener) as lines:
        await expect(lines, "list")
        assert await lines.read() == {"ack": 0}
        await lines.write({"slice": {"records": {}, "revision": 3, "last": True}})
        await until_said(lines, {"ack": 3})


@pytest.mark.parametrize(
    "disorder",
    [
        {"changes": [], "revision": 4},
        {"changes": [{"revision": 3, "kind": "user", "key": "1", "record": None}], "revision": 3},
        {"changes": [{"revision": 5, "kind": "user", "key": "1", "record": None}], "revision": 6},
        {"changes": [{"revision": 5, "kind": "planet", "key": "1", "record": None}], "revision": 5},
        {"changes": [{}], "revision": 5},
        {"what": 1},
    ],
)
async def test_disorder_begins_a_new_connection(
    tmp_path: Path, listener: socket.socket, disorder: dict[str, Any]
) -> None:
    """A message that does not follow from what we hold is not believed: everything is listed again."""
    gateway = Gateway(tmp_path)
    async with running(gateway):
        async with bare_control(listener) as lines:
            await expect(lines, "list")
            await lines.write({"slice": {"records": {}, "revision": 3, "last": True}})
            await until_said(lines, {"watch": {"from": 3}})
            await lines.write(disorder)
            with pytest.raises(ConnectionError):
                await until_said(lines, {"never": 1})
        assert gateway.table.revision == 3
        async with bare_control(listener) as lines:
            await expect(lines, "list")


async def test_a_silent_control_is_given_up(tmp_path: Path, listener: socket.socket) -> None:
    """Control is stopped, its connections open: the gateway serves on and connects anew."""
    gateway = Gateway(tmp_path, silence_s=0.2)
    async with running(gateway):
        for _ in range(2):
            async with bare_control(listener) as lines:
                await expect(lines, "list")
                with pytest.raises(ConnectionError):
                    await until_said(lines, {"never": 1})
        assert not gateway.feed.online


async def test_a_control_that_does_not_welcome_is_left(tmp_path: Path, listener: socket.socket) -> None:
    """Any other answer to the greeting ends the connection."""
    gateway = Gateway(tmp_path)
    async with running(gateway), accepted(listener) as lines:
        await expect(lines, "hello")
        await lines.write({"slice": {}})
        with pytest.raises(ConnectionError):
            await lines.read()


async def test_a_slice_of_another_shape_begins_a_new_connection(
    tmp_path: Path, listener: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told in the log without what it says, and control asked again."""
    gateway = Gateway(tmp_path)
    async with running(gateway):
        async with bare_control(listener) as lines:
            await expect(lines, "list")
            await lines.write({"slice": {"records": {"user": [{"secret": "hidden"}]}, "revision": 1, "last": True}})
            with pytest.raises(ConnectionError):
                await until_said(lines, {"never": 1})
        async with bare_control(listener) as lines:
            await expect(lines, "list")
    assert "a slice of another shape" in caplog.text
    assert "hidden" not in caplog.text


async def test_slices_that_came_at_once_let_others_run_in_between(tmp_path: Path, listener: socket.socket) -> None:
    """However many lie in the buffer, the loop turns after each; other messages may come between them."""
    gateway, turns = Gateway(tmp_path), 0

    async def others() -> None:
        nonlocal turns
        while gateway.table.revision == 0:
            await asyncio.sleep(0)
            turns += 1

    async with running(gateway), bare_control(listener) as lines:
        await expect(lines, "list")
        parts = [slice_line([encoded(world.user(n, f"u{n}"))], 5, last=n == 50) for n in range(1, 51)]
        async with asyncio.TaskGroup() as group:
            counting = group.create_task(others())
            await lines.write_line(b"".join([*parts[:25], b'{"cut":{"visits":["v"]}}\n', *parts[25:]]))
            await gateway.holds(5)
            counting.cancel()
    assert turns >= 50
    assert gateway.cut == ["v"]
    assert gateway.table.user(50) == world.user(50, "u50")


async def test_an_unexpected_fault_does_not_end_the_feed(
    tmp_path: Path, listener: socket.socket, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody foresaw is logged, and control asked again."""
    monkeypatch.delattr(Listing, "take")
    gateway = Gateway(tmp_path)
    async with running(gateway):
        async with bare_control(listener) as lines:
            await expect(lines, "list")
            await lines.write({"slice": {"records": {}, "revision": 1, "last": True}})
            with pytest.raises(ConnectionError):
                await until_said(lines, {"never": 1})
        async with bare_control(listener) as lines:
            await expect(lines, "list")
    assert [record.levelno for record in caplog.records if record.levelno >= logging.ERROR] == [logging.ERROR]


async def test_questions_are_answered(tmp_path: Path, listener: socket.socket) -> None:
    """The answer's fields come back."""
    source, gateway = MemorySource(), Gateway(tmp_path)
    source.answers[Question.PASSWORD] = {"ok": True, "user_id": 1}
    async with control(listener, source), running(gateway):
        assert await gateway.feed.ask(Question.PASSWORD, {"user": "alice"}) == {"ok": True, "user_id": 1}
    assert source.asked == [(Question.PASSWORD, {"user": "alice"})]


async def test_a_question_waits_for_controls_return(tmp_path: Path, listener: socket.socket) -> None:
    """Control restarts while somebody types their password: they are not refused."""
    source, gateway = MemorySource(), Gateway(tmp_path)
    source.answers[Question.PASSWORD] = {"ok": True, "user_id": 1}
    async with running(gateway), asyncio.TaskGroup() as group:
        asking = group.create_task(gateway.feed.ask(Question.PASSWORD, {}))
        await asyncio.sleep(0)
        async with control(listener, source):
            assert await asking == {"ok": True, "user_id": 1}


async def test_silence_is_no(tmp_path: Path, listener: socket.socket) -> None:
    """No answer by the deadline is None; one that comes later is dropped and harms nothing."""
    source, gateway = MemorySource(), Gateway(tmp_path, ask_s=0.2)
    source.may_answer.clear()
    async with running(gateway):
        async with control(listener, source):
            assert await gateway.feed.ask(Question.EXCHANGE, {}) is None
            source.may_answer.set()
            assert await gateway.feed.ask(Question.EXCHANGE, {}) == {"ok": False}
        assert await gateway.feed.ask(Question.EXCHANGE, {}) is None


async def test_a_question_ends_with_its_connection(tmp_path: Path, listener: socket.socket) -> None:
    """Control goes while it thinks: the answer is no at once, because a one-time code may be spent already."""
    source, gateway = MemorySource(), Gateway(tmp_path, ask_s=60)
    source.may_answer.clear()
    async with running(gateway), asyncio.TaskGroup() as group:
        async with control(listener, source):
            asking = group.create_task(gateway.feed.ask(Question.EXCHANGE, {}))
            await source.bell.until(lambda: len(source.asked) == 1)
        assert await asking is None


async def test_too_many_questions_are_not_even_asked(
    tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of passwords is bounded here already."""
    monkeypatch.setattr(feed_module, "ASKS_LIMIT", 1)
    source, gateway = MemorySource(), Gateway(tmp_path, ask_s=0.3)
    source.may_answer.clear()
    async with control(listener, source), running(gateway), asyncio.TaskGroup() as group:
        first = group.create_task(gateway.feed.ask(Question.PASSWORD, {}))
        await source.bell.until(lambda: len(source.asked) == 1)
        assert await gateway.feed.ask(Question.PASSWORD, {}) is None
        assert await first is None


async def test_ports_are_reported_now_and_at_each_reconnection(tmp_path: Path, listener: socket.socket) -> None:
    """Control learns of a busy port even when it was away at the time."""
    source, gateway = MemorySource(), Gateway(tmp_path)
    await gateway.feed.report_ports({40000: "busy"})
    async with running(gateway), control(listener, source):
        await source.heard_of("ports", "web-0", {40000: "busy"})
        await gateway.feed.report_ports({})
        await source.heard_of("ports", "web-0", {})


@asynccontextmanager
async def accepted(listener: socket.socket) -> AsyncIterator[Lines]:
    """The next connection that a gateway makes."""
    sock, _ = await asyncio.get_running_loop().sock_accept(listener)
    lines = await Lines.over(sock, write_s=5)
    try:
        yield lines
    finally:
        await lines.close()


@asynccontextmanager
async def bare_control(listener: socket.socket) -> AsyncIterator[Lines]:
    """The next connection, welcomed; the test says the rest."""
    async with accepted(listener) as lines:
        await expect(lines, "hello")
        await lines.write({"welcome": {"lease_s": 10, "epoch": "e"}})
        yield lines


async def expect(lines: Lines, word: str) -> None:
    """The next message but for heartbeats is of this kind."""
    message = await lines.read()
    while "ack" in message and word != "ack":
        message = await lines.read()
    assert list(message) == [word]


async def until_said(lines: Lines, wanted: dict[str, Any]) -> None:
    """Reads on until the gateway says this; raises ConnectionError when it leaves instead."""
    while await lines.read() != wanted:
        pass


async def test_live_visits_are_reported_and_cut_by_order(tmp_path: Path, listener: socket.socket) -> None:
    """One that is open is cut; one that is not is told as gone, so that control forgets it."""
    source, gateway = MemorySource(world.user()), Gateway(tmp_path)
    gateway.news = [VisitsReport(everything=True)]
    async with control(listener, source), running(gateway):
        await source.heard_of("visits", "web-0", VisitsReport(everything=True))
        source.to_cut = ["open", "unknown"]
        source.bell.ring()
        await source.heard_of("visits", "web-0", VisitsReport(gone=("unknown",)))
        assert gateway.cut == ["open", "unknown"]
        await source.bell.until(lambda: source.counts.get("web-0") == "counts")
