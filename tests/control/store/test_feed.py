"""Records: revisions rise with each change, tombstones tell of what went."""

from __future__ import annotations

from control.store import feed
from control.store.engine import Database
from gateway.contract.people import User


def user(number: int, *, disabled: bool = False) -> User:
    """A record."""
    return User(number, f"u{number}", "user", disabled)


async def test_equal_record_keeps_its_revision(db: Database) -> None:
    """Deriving everything anew wakes nobody."""
    async with db.write() as session:
        first = await feed.put(session, user(1), 0.0)
        assert await feed.put(session, user(1), 1.0) == first
        assert await feed.put(session, user(1, disabled=True), 2.0) > first


async def test_changes_come_in_the_order_of_revisions(db: Database) -> None:
    """The last shape of each record, oldest change first, tombstones included."""
    async with db.write() as session:
        start = await feed.put(session, user(1), 0.0)
        await feed.put(session, user(2), 0.0)
        await feed.put(session, user(1, disabled=True), 0.0)
        await feed.drop(session, "user", 2, 0.0)
        rows = await feed.changed_after(session, start, 10)
        assert rows is not None
        assert [(row.key, row.payload is None) for row in rows] == [("1", False), ("2", True)]
        assert await feed.changed_after(session, await feed.latest(session), 10) == []


async def test_dropping_twice_or_nothing_changes_nothing(db: Database) -> None:
    """A withdrawal may be repeated."""
    async with db.write() as session:
        await feed.put(session, user(1), 0.0)
        gone = await feed.drop(session, "user", 1, 0.0)
        assert await feed.drop(session, "user", 1, 0.0) == gone
        assert await feed.drop(session, "user", 9, 0.0) == 0
        assert await feed.revision_of(session, "user", 1) is None
        back = await feed.put(session, user(1), 0.0)
        assert await feed.revision_of(session, "user", 1) == back
        assert await feed.revisions_of(session, "user", ["1", "9"]) == {"1": back}


async def test_slices_cover_every_record_once(db: Database) -> None:
    """In the order of kind and key, without tombstones."""
    async with db.write() as session:
        for number in range(5):
            await feed.put(session, user(number), 0.0)
        await feed.drop(session, "user", 3, 0.0)
        seen, after = [], ("", "")
        while rows := await feed.slice_after(session, after, 2):
            seen += [row.key for row in rows]
            after = (rows[-1].kind, rows[-1].key)
        assert seen == ["0", "1", "2", "4"]
        assert await feed.keys(session) == {("user", key) for key in seen}


async def test_who_is_behind_the_cleared_tombstones_lists_again(db: Database) -> None:
    """`gone` for watchers from before; who knows of the drop goes on watching."""
    async with db.write() as session:
        await feed.put(session, user(1), 0.0)
        dropped = await feed.drop(session, "user", 1, 0.0)
        assert await feed.compact(session, feed.TOMBSTONE_S) == 0
        assert await feed.compact(session, feed.TOMBSTONE_S + 1) == 1
        assert await feed.changed_after(session, dropped - 1, 10) is None
        assert await feed.changed_after(session, dropped, 10) == []
        assert await feed.changed_after(session, dropped + 1, 10) is None


async def test_epoch_names_the_database_for_ever(db: Database) -> None:
    """Made once."""
    async with db.write() as session:
        first = await feed.epoch(session)
    async with db.write() as session:
        assert await feed.epoch(session) == first


async def test_put_wakes_those_who_watch(db: Database) -> None:
    """After the commit."""
    seen = db.hints.generation(feed.TOPIC)
    async with db.write() as session:
        await feed.put(session, user(1), 0.0)
        assert db.hints.generation(feed.TOPIC) == seen
    assert db.hints.generation(feed.TOPIC) > seen
