"""Transactions and hints, alike on both databases."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from control.store import counters, people
from control.store.engine import Database, Hints, make_engine, tell
from tests.control.store.conftest import AddUser


async def test_write_is_rolled_back_when_its_block_raises(db: Database, add_user: AddUser) -> None:
    """All or nothing; and no hint of what did not happen."""
    told: list[str] = []
    db.hints.listen("user", told.append)

    async def add_and_fail() -> None:
        async with db.write() as session:
            await add_user(session)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await add_and_fail()
    async with db.read() as session:
        assert await people.user_count(session) == 0
    assert told == []


async def test_hint_comes_after_the_commit(db: Database, add_user: AddUser) -> None:
    """Who is woken finds what the hint tells of, and each hint once."""
    found: list[str] = []
    db.hints.listen("user", found.append)
    async with db.write() as session:
        await add_user(session)
        tell(session, "user", "1")
        assert found == []
    assert found == ["1"]


async def test_writers_take_turns_and_see_each_other(db: Database) -> None:
    """Twenty read-then-write transactions at once lose no number."""

    async def raise_once() -> int:
        async with db.write() as session:
            before = await counters.current(session, "x")
            after = await counters.next_number(session, "x")
            assert after == before + 1
            return after

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(raise_once()) for _ in range(20)]
    assert sorted(task.result() for task in tasks) == list(range(1, 21))


async def test_two_processes_take_turns_as_well(migrated_url: str, db: Database) -> None:
    """The turn is the database's, not this process's."""
    other = Database(make_engine(migrated_url))

    async def raise_once(by: Database) -> int:
        async with by.write() as session:
            return await counters.next_number(session, "x")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(raise_once(by)) for by in (db, other) * 5]
    await other.close()
    assert sorted(task.result() for task in tasks) == list(range(1, 11))


async def test_reader_sees_one_moment(db: Database, add_user: AddUser) -> None:
    """What is committed while a reader reads does not show up half-way."""
    async with db.read() as session:
        assert await people.user_count(session) == 0
        async with db.write() as writer:
            await add_user(writer)
        assert await people.user_count(session) == 0


async def test_foreign_keys_hold(db: Database) -> None:
    """SQLite too refuses a row that points nowhere."""
    orphan = text("INSERT INTO event (job_id, at, kind, code, params) VALUES ('none', 0, 'Normal', 'Started', '{}')")
    with pytest.raises(IntegrityError):
        async with db.write() as session:
            await session.execute(orphan)


async def test_waiting_for_a_hint_misses_nothing() -> None:
    """A hint between look and wait ends the wait at once."""
    hints = Hints()
    seen = hints.generation("t")
    hints.tell("t")
    assert await hints.wait("t", seen) == seen + 1
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(hints.wait("t", seen + 1))
        await asyncio.sleep(0)
        hints.tell("t", "key")
    assert waiting.result() == seen + 2


async def test_listener_is_called_until_it_is_taken_off() -> None:
    """With the key of each hint."""
    hints, heard = Hints(), list[str]()
    stop = hints.listen("t", heard.append)
    hints.tell("t", "a")
    stop()
    hints.tell("t", "b")
    assert heard == ["a"]


def test_other_databases_are_refused() -> None:
    """A sentence instead of a driver's riddle."""
    with pytest.raises(ValueError, match="sqlite or postgresql"):
        make_engine("mysql://x")


async def test_cancelled_transactions_leave_no_task_behind(db: Database) -> None:
    """Cut in the middle of a statement, some twice: the database goes on, and the loop can end."""

    async def count() -> None:
        while True:
            async with db.write() as session:
                await counters.next_number(session, "x")

    before = asyncio.all_tasks()
    async with asyncio.TaskGroup() as group:
        for number in range(30):
            task = group.create_task(count())
            async with db.read() as session:
                await counters.current(session, "x")
            task.cancel()
            await asyncio.sleep(0)
            if number % 2:
                task.cancel()
    async with asyncio.timeout(10):
        while asyncio.all_tasks() != before:
            await asyncio.sleep(0.01)
    async with db.write() as session:
        await counters.next_number(session, "x")
