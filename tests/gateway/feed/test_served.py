"""The control end of the feed, as a bare gateway sees it: greeting, list, watch, leases, bounds."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.contract.calls import listen
from gateway.contract.codec import encode_record
from gateway.contract.feed import Question
from gateway.contract.routes import Certificate
from gateway.contract.visits import VisitsReport
from gateway.feed.lines import Lines
from gateway.feed.served import ASKS_LIMIT, FeedServer
from gateway.feed.socket import connected
from tests.gateway import world
from tests.gateway.feed.memory import MemorySource


@asynccontextmanager
async def control(path: Path, source: MemorySource, *, lease_s: float = 5.0, beat_s: float = 5.0) -> AsyncIterator[str]:
    """A running control end; yields the socket's path."""
    where = str(path / "feed.sock")
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        with listen(where, kind=socket.SOCK_STREAM) as listener:
            serving = group.create_task(FeedServer(listener, source, lease_s=lease_s, beat_s=beat_s).run())
            yield where
            serving.cancel()
            await asyncio.wait([serving])


@asynccontextmanager
async def gateway(path: str, name: str = "web-0", instance: str = "i1") -> AsyncIterator[Lines]:
    """A bare gateway that was welcomed."""
    async with connected(path, deadline_s=5) as lines:
        await lines.write({"hello": {"v": 1, "name": name, "role": "web", "instance": instance}})
        assert "welcome" in await lines.read()
        yield lines


async def listed(lines: Lines) -> list[dict[str, Any]]:
    """All slices of a list."""
    await lines.write({"list": {}})
    slices = [(await lines.read())["slice"]]
    while not slices[-1]["last"]:
        slices.append((await lines.read())["slice"])
    return slices


async def to_the_end(lines: Lines) -> None:
    """Reads until the connection ends, which raises."""
    while True:
        await lines.read()


async def test_the_greeting_tells_lease_and_epoch(tmp_path: Path) -> None:
    """A gateway that greets is welcomed and registered under its name."""
    source = MemorySource()
    async with control(tmp_path, source) as path, connected(path, deadline_s=5) as lines:
        await lines.write({"hello": {"v": 1, "name": "web-0", "role": "web", "instance": "i1"}})
        assert await lines.read() == {"welcome": {"lease_s": 5.0, "epoch": "epoch-1"}}
        await source.heard_of("registered", "web-0", "web", "i1")


@pytest.mark.parametrize("hello", [{}, {"hello": 1}, {"hello": {"v": 2, "name": "x"}}, {"hello": {"v": 1}}])
async def test_a_stranger_is_turned_away(tmp_path: Path, hello: dict[str, Any]) -> None:
    """Another version, or no greeting at all, ends the connection and registers nobody."""
    source = MemorySource()
    async with control(tmp_path, source) as path, connected(path, deadline_s=5) as lines:
        await lines.write(hello)
        with pytest.raises(ConnectionError):
            await lines.read()
    assert source.heard == []


async def test_a_list_comes_in_slices(tmp_path: Path) -> None:
    """Every record is listed once, in slices of one revision, the last one marked."""
    people = [world.user(number, f"u{number}") for number in range(1, 6)]
    async with control(tmp_path, MemorySource(*people)) as path, gateway(path) as lines:
        slices = await listed(lines)
        assert [part["revision"] for part in slices] == [5, 5, 5]
        assert [item for part in slices for item in part["records"]["user"]] == [encode_record(p) for p in people]


async def test_an_empty_list_is_one_slice(tmp_path: Path) -> None:
    """A new installation has nothing to list, and says so."""
    async with control(tmp_path, MemorySource()) as path, gateway(path) as lines:
        assert await listed(lines) == [{"records": {}, "revision": 0, "last": True}]


async def test_a_slice_that_is_too_long_is_split(tmp_path: Path) -> None:
    """Certificates may be large: the line limit holds nevertheless, for lists and for changes."""
    big = [Certificate(f"c{number}", (), "x" * 1_500_000, "key") for number in range(4)]
    async with control(tmp_path, MemorySource(*big, slice_size=10)) as path, gateway(path) as lines:
        assert [len(part["records"]["certificate"]) for part in await listed(lines)] == [2, 2]
        await lines.write({"watch": {"from": 0}})
        assert [((await lines.read())["revision"]) for _ in range(2)] == [2, 4]


async def test_a_record_that_never_fits_ends_the_connection(tmp_path: Path) -> None:
    """It cannot be sent; the log says so, and other gateways are served on."""
    source = MemorySource(Certificate("c", (), "x" * 5_000_000, "key"))
    async with control(tmp_path, source) as path:
        messages: list[dict[str, Any]] = [{"list": {}}, {"watch": {"from": 0}}]
        for message in messages:
            async with gateway(path) as lines:
                await lines.write(message)
                with pytest.raises(ConnectionError):
                    await lines.read()


async def test_changes_are_watched_as_they_come(tmp_path: Path) -> None:
    """The watch first says where control is, then each change at once."""
    source = MemorySource(world.user())
    async with control(tmp_path, source) as path, gateway(path) as lines:
        await lines.write({"watch": {"from": 1}})
        assert await lines.read() == {"changes": [], "revision": 1}
        source.put(world.user(2, "bob"))
        change = {"revision": 2, "kind": "user", "key": "2", "record": encode_record(world.user(2, "bob"))}
        assert await lines.read() == {"changes": [change], "revision": 2}
        source.drop(world.user(2, "bob"))
        assert (await lines.read())["changes"][0]["record"] is None


async def test_a_quiet_watch_gives_signs_of_life(tmp_path: Path) -> None:
    """When nothing changes, an empty message every beat confirms the revision."""
    async with control(tmp_path, MemorySource(world.user()), beat_s=0.05) as path, gateway(path) as lines:
        await lines.write({"watch": {"from": 1}})
        for _ in range(3):
            assert await lines.read() == {"changes": [], "revision": 1}


async def test_a_watch_from_too_long_ago_is_gone(tmp_path: Path) -> None:
    """The gateway is told to list; on the same connection it may."""
    source = MemorySource(world.user())
    source.horizon = 1
    async with control(tmp_path, source) as path, gateway(path) as lines:
        await lines.write({"watch": {"from": 0}})
        assert await lines.read() == {"gone": True}
        assert (await listed(lines))[0]["revision"] == 1


async def test_acknowledgements_and_reports_are_heard(tmp_path: Path) -> None:
    """What the gateway holds, and which ports it could not get, reach the source."""
    source = MemorySource(world.user())
    async with control(tmp_path, source) as path, gateway(path) as lines:
        await lines.write({"ack": 1})
        await source.acknowledged_by("web-0", 1)
        await lines.write({"report": {"ports": {"40123": "busy"}}})
        await source.heard_of("ports", "web-0", {40123: "busy"})


async def test_questions_are_answered_side_by_side(tmp_path: Path) -> None:
    """A slow answer does not hold up the next one; an unknown question is refused."""
    source = MemorySource()
    source.may_answer.clear()
    source.answers[Question.PASSWORD] = {"ok": True, "user_id": 1}
    async with control(tmp_path, source) as path, gateway(path) as lines:
        await lines.write({"ask": {"id": 7, "question": "password", "user": "alice", "password": "p", "address": "a"}})
        await lines.write({"ask": {"id": 8, "question": "weather"}})
        assert await lines.read() == {"answer": {"id": 8, "ok": False, "code": "bad_request"}}
        source.may_answer.set()
        assert await lines.read() == {"answer": {"id": 7, "ok": True, "user_id": 1}}
    assert source.asked == [(Question.PASSWORD, {"user": "alice", "password": "p", "address": "a"})]


async def test_too_many_questions_are_refused(tmp_path: Path) -> None:
    """A gateway cannot pile up work in control without end."""
    source = MemorySource()
    source.may_answer.clear()
    async with control(tmp_path, source) as path, gateway(path) as lines:
        for number in range(ASKS_LIMIT + 1):
            await lines.write({"ask": {"id": number, "question": "password"}})
        assert await lines.read() == {"answer": {"id": ASKS_LIMIT, "ok": False, "code": "rate_limited"}}


@pytest.mark.parametrize("message", [{"what": 1}, {"ack": "x"}, {"report": {"ports": {"x": "busy"}}}])
async def test_nonsense_ends_one_connection_only(tmp_path: Path, message: dict[str, Any]) -> None:
    """The other gateway does not notice."""
    async with control(tmp_path, MemorySource(world.user())) as path, gateway(path, "web-1") as other:
        async with gateway(path) as lines:
            await lines.write(message)
            with pytest.raises(ConnectionError):
                await lines.read()
        assert (await listed(other))[0]["last"]


async def test_a_source_that_fails_ends_one_connection_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database was away for a moment: this gateway connects again, control goes on."""
    source = MemorySource(world.user())
    async with control(tmp_path, source) as path:
        async with gateway(path) as lines:
            with monkeypatch.context() as broken:
                broken.delattr(MemorySource, "slices")
                await lines.write({"list": {}})
                with pytest.raises(ConnectionError):
                    await lines.read()
        async with gateway(path) as lines:
            assert (await listed(lines))[0]["revision"] == 1


async def test_without_descriptors_gateways_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepting fails for want of descriptors: it is tried again."""
    loop, fails = asyncio.get_running_loop(), iter([OSError(errno.EMFILE, "too many")])
    accept = loop.sock_accept

    async def scarce(sock: socket.socket) -> tuple[socket.socket, Any]:
        for fault in fails:
            raise fault
        return await accept(sock)

    monkeypatch.setattr(loop, "sock_accept", scarce)
    async with control(tmp_path, MemorySource()) as path, gateway(path) as lines:
        assert (await listed(lines))[0]["last"]


async def test_a_lease_lapses_after_the_connection_ended(tmp_path: Path) -> None:
    """A gateway that went away is given up after what was left of its lease."""
    source = MemorySource()
    async with control(tmp_path, source, lease_s=0.2) as path:
        async with gateway(path):
            pass
        await source.heard_of("lost", "web-0")


async def test_silence_lapses_the_lease(tmp_path: Path) -> None:
    """A gateway that hangs, its connection open, is given up as well."""
    source = MemorySource()
    async with control(tmp_path, source, lease_s=0.2) as path, gateway(path) as lines:
        await source.heard_of("lost", "web-0")
        with pytest.raises(ConnectionError):
            await lines.read()


async def test_a_successor_takes_over_at_once(tmp_path: Path) -> None:
    """The restarted process has the name; what its predecessor still says does not count for it."""
    source = MemorySource(world.user())
    async with (
        control(tmp_path, source, lease_s=0.5) as path,
        gateway(path, instance="old") as old,
        gateway(path, instance="new") as new,
    ):
        await source.heard_of("registered", "web-0", "web", "new")
        await old.write({"ack": 1})
        with pytest.raises(ConnectionError):
            await old.read()
        assert source.acks["web-0"] == 0
        for _ in range(3):  # longer than the old connection's lease
            await new.write({"ack": 1})
            await asyncio.sleep(0.3)
        await source.acknowledged_by("web-0", 1)
        assert ("lost", "web-0") not in source.heard


async def test_a_gateway_that_does_not_read_is_dropped(tmp_path: Path) -> None:
    """Its backlog is bounded by the socket and one write; control is not held up by it."""
    big = [Certificate(f"c{number}", (), "x" * 1_500_000, "key") for number in range(4)]
    source = MemorySource(*big)
    async with control(tmp_path, source, lease_s=0.3) as path, gateway(path) as lines:
        await lines.write({"list": {}})
        await source.heard_of("lost", "web-0")
        with pytest.raises(ConnectionError):
            await to_the_end(lines)


async def test_reports_reach_the_source_and_orders_the_gateway(tmp_path: Path) -> None:
    """What is malformed ends the connection of that gateway."""
    source = MemorySource()
    async with control(tmp_path, source) as path, gateway(path) as lines:
        await lines.write({"report": {"visits": {"gone": ["web-0-1"]}}})
        await source.heard_of("visits", "web-0", VisitsReport(gone=("web-0-1",)))
        await lines.write({"report": {"metrics": "up 1"}})
        await source.bell.until(lambda: source.counts == {"web-0": "up 1"})
        source.to_cut = ["web-0-2"]
        source.bell.ring()
        assert await lines.read() == {"cut": {"visits": ["web-0-2"]}}
        await lines.write({"report": {"visits": {"open": 7}}})
        with pytest.raises(ConnectionError):
            await lines.read()
