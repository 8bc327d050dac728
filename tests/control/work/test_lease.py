"""Work is done by the holder of the lease, and by nobody else."""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from control.store import counters, leases
from control.store.engine import Database
from control.store.leases import LeaseLostError
from control.work import lease
from control.work.lease import WorkLease
from tests.control.work.conftest import Clock


async def test_overtaken_process_waits_until_the_lease_is_free(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A successor of its name works; when that one lets go, we work again."""
    monkeypatch.setattr(lease, "_RENEW_S", 0.01)
    clock, begun, ended = Clock(), asyncio.Queue[None](), asyncio.Event()
    mine = WorkLease(db, "work", "a", clock.now)

    async def work() -> None:
        begun.put_nowait(None)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        holding = group.create_task(mine.hold(work))
        await begun.get()
        async with db.write() as session:
            successor = await leases.take(session, "work", "a", now=clock.now(), term_s=lease.TERM_S)
        assert successor is not None
        await ended.wait()
        async with db.write() as session:
            await leases.guard(session, successor, now=clock.now())
            await leases.release(session, successor)
        await begun.get()
        holding.cancel()


async def test_work_that_lost_the_lease_in_a_group_of_its_own_goes_on(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease that ran out (a full disk, a process that was stopped) is taken again; the loops never end for good."""
    monkeypatch.setattr(lease, "_RENEW_S", 0.01)
    begun = asyncio.Queue[int]()

    async def lose() -> None:
        raise LeaseLostError("work")

    async def work() -> None:
        begun.put_nowait(begun.qsize())
        async with asyncio.TaskGroup() as loops:
            loops.create_task(asyncio.sleep(60))
            loops.create_task(lose())

    clock = Clock()
    mine = WorkLease(db, "work", "a", clock.now)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        holding = group.create_task(mine.hold(work))
        for _ in range(3):
            await begun.get()
            clock.seconds += lease.TERM_S + 1
        holding.cancel()
    assert holding.cancelled()


async def test_a_lease_that_cannot_be_taken_now_is_taken_later(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database may be full or away for a while: that is waited out, not died of."""
    monkeypatch.setattr(lease, "_RENEW_S", 0.01)
    faults = [
        DBAPIError("BEGIN", None, sqlite3.OperationalError("database or disk is full")),
        TimeoutError(),
        OSError(),
    ]
    begun, take = asyncio.Event(), leases.take

    async def failing(*args: Any, **more: Any) -> leases.Held | None:
        if faults:
            raise faults.pop()
        return await take(*args, **more)

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(leases, "take", failing)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        holding = group.create_task(WorkLease(db, "work", "a", Clock().now).hold(work))
        await begun.wait()
        holding.cancel()


async def test_write_is_guarded(db: Database) -> None:
    """No lease, no write; and a lost one rolls back."""
    clock = Clock()
    mine = WorkLease(db, "work", "a", clock.now)
    with pytest.raises(LeaseLostError):
        async with mine.write():
            pass
    async with db.write() as session:
        mine._held = await leases.take(session, "work", "a", now=clock.now(), term_s=10.0)
    async with mine.write() as session:
        await counters.next_number(session, "x")
    async with db.read() as session:
        assert await counters.current(session, "x") == 1


async def test_work_that_fails_is_not_hidden(db: Database) -> None:
    """Only a lost lease is waited out."""

    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await WorkLease(db, "work", "a", Clock().now).hold(work)


async def test_lease_that_was_let_go_is_free_at_once(db: Database) -> None:
    """For a process of any name."""
    clock = Clock()
    mine = WorkLease(db, "work", "a", clock.now)
    await mine.let_go()
    async with db.write() as session:
        mine._held = await leases.take(session, "work", "a", now=clock.now(), term_s=10.0)
    await mine.let_go()
    async with db.write() as session:
        assert await leases.take(session, "work", "b", now=clock.now(), term_s=10.0) is not None
    with pytest.raises(LeaseLostError):
        async with mine.write():
            pass
