"""The sealed copy on disk: whole or none, for our key only, written now and then."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.contract.codec import Change, Record
from gateway.contract.routes import Certificate
from gateway.core.table import Table
from gateway.feed import disk as disk_module
from gateway.feed.disk import Copy, Disk
from tests.gateway import world
from tests.gateway.world import NOW

KEY = bytes(range(32))
RECORDS: list[Record] = [
    world.user(),
    world.key(),
    world.session(),
    world.token(),
    world.grant(),
    world.job(),
    world.entry(),
    Certificate("c", ("*.proxy.localhost",), "chain", "PRIVATE KEY", default=True),
    world.SECRET,
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the copy lies; its folder is not there yet."""
    return tmp_path / "gateway" / "web-0.feed"


async def test_what_was_saved_is_loaded(path: Path) -> None:
    """Every kind of record, the revision, and the time of the last confirmation come back."""
    copy = Copy(RECORDS, 7, NOW)
    await Disk(path, KEY).save(copy)
    assert Disk(path, KEY).load() == copy


@pytest.mark.parametrize("count", [0, 1, 200, 201, 450])
async def test_a_list_of_any_length_is_saved(path: Path, count: int) -> None:
    """In slices, whose last one may be full."""
    copy = Copy([world.user(number, f"u{number}") for number in range(1, count + 1)], 7, NOW)
    await Disk(path, KEY).save(copy)
    assert Disk(path, KEY).load() == copy


async def test_the_copy_is_private_and_tells_nothing(path: Path) -> None:
    """Mode 0600, and neither names nor keys in the file."""
    await Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for word in (b"PRIVATE KEY", b"alice", b"jupyter"):
        assert word not in path.read_bytes()
    assert [file.name for file in path.parent.iterdir()] == ["web-0.feed"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sealed: sealed[:0],
        lambda sealed: sealed[:-1],
        lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
        lambda sealed: sealed.replace(b"copy 1", b"copy 0"),
        lambda sealed: b"\x00" * len(sealed),
    ],
)
async def test_a_spoilt_copy_counts_as_none(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Damage, an earlier version, an empty file: the gateway waits for control instead."""
    await Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
    path.write_bytes(spoil(path.read_bytes()))
    assert Disk(path, KEY).load() is None


async def test_another_key_opens_nothing(path: Path) -> None:
    """A copy of another installation is none."""
    await Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
    assert Disk(path, bytes(32)).load() is None


def test_no_copy_is_none(path: Path) -> None:
    """The first start has none."""
    assert Disk(path, KEY).load() is None


async def loaded(disk: Disk, what: Callable[[Copy], bool]) -> Copy:
    """The copy on disk once it is like this."""
    async with asyncio.timeout(5):
        while True:
            copy = disk.load()
            if copy is not None and what(copy):
                return copy
            await asyncio.sleep(0.01)


@asynccontextmanager
async def keeping(disk: Disk, table: Table) -> AsyncIterator[None]:
    """The copy is kept for as long as the block, and was made."""
    table.confirm(NOW)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(disk.keep(table))
        disk.edited()
        await loaded(disk, lambda copy: copy.revision == table.revision)
        yield
        task.cancel()


def begun(path: Path) -> bytes:
    """How the file begins: another one begins otherwise."""
    return path.read_bytes()[:40]


async def test_a_change_is_added_to_the_file_in_place(path: Path) -> None:
    """Puts and drops come back, and the file is not made anew for them."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=60)
    table.replace(RECORDS, 1)
    async with keeping(disk, table):
        made, length = begun(path), path.stat().st_size
        table.apply(Change(2, "user", "2", world.user(2, "bob")))
        table.apply(Change(3, "grant", "45", None))
        disk.edited()
        copy = await loaded(disk, lambda copy: copy.revision == 3)
        assert sorted(map(repr, copy.records)) == sorted(map(repr, table.records()))
        assert begun(path) == made
        assert path.stat().st_size < length + 500
        table.apply(Change(4, "user", "2", None))
        disk.edited()
        await loaded(disk, lambda copy: world.user(2, "bob") not in copy.records)


async def test_a_list_that_differs_makes_the_file_anew(path: Path) -> None:
    """One that says the same does not."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=60)
    table.replace(RECORDS, 1)
    async with keeping(disk, table):
        made = begun(path)
        table.replace(RECORDS, 2)
        disk.edited()
        await loaded(disk, lambda copy: copy.revision == 2)
        assert begun(path) == made
        table.replace([world.user()], 3)
        disk.edited()
        copy = await loaded(disk, lambda copy: copy.revision == 3)
        assert copy.records == [world.user()]
        assert begun(path) != made


async def test_a_file_that_has_grown_is_made_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length is bounded by that of the list."""
    monkeypatch.setattr(disk_module, "_GROWN", 3)
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=60)
    table.replace([world.user()], 1)
    async with keeping(disk, table):
        made = begun(path)
        for revision in range(2, 8):
            table.apply(Change(revision, "user", "1", world.user(1, f"name {revision}")))
            disk.edited()
            copy = await loaded(disk, lambda copy, revision=revision: copy.revision == revision)  # type: ignore[misc]
        assert copy.records == [world.user(1, "name 7")]
        assert begun(path) != made


@pytest.mark.parametrize("lost", [1, 30])
async def test_a_crash_while_the_file_grew_leaves_what_was_before(path: Path, lost: int) -> None:
    """The frame that was being written is not there yet, or not whole."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=60)
    table.replace(RECORDS, 1)
    async with keeping(disk, table):
        before = path.stat().st_size
        table.apply(Change(2, "user", "2", world.user(2, "bob")))
        disk.edited()
        await loaded(disk, lambda copy: copy.revision == 2)
        assert path.stat().st_size > before + lost
    os.truncate(path, path.stat().st_size - lost)
    assert Disk(path, KEY).load() == Copy(RECORDS, 1, NOW)


async def test_many_edits_in_a_row_make_one_write(path: Path) -> None:
    """The next one comes after the pause."""
    table, disk = Table(), Disk(path, KEY, every_s=0.2, refresh_s=60)
    table.replace(RECORDS, 1)
    async with keeping(disk, table):
        before = path.stat().st_size
        for revision in range(2, 50):
            table.apply(Change(revision, "user", "2", world.user(2, "bob")))
            disk.edited()
        await asyncio.sleep(0.05)
        assert path.stat().st_size == before
        assert len((await loaded(disk, lambda copy: copy.revision == 49)).records) == len(RECORDS) + 1


async def test_an_unchanged_table_is_confirmed(path: Path) -> None:
    """So that a restart does not take it for older than it is."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=0.05)
    table.replace(RECORDS, 1)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(disk.keep(table))
        await asyncio.sleep(0.1)
        assert not path.exists()  # never confirmed: nothing worth keeping
        table.confirm(NOW)
        await loaded(disk, lambda copy: copy.confirmed_at == NOW)
        table.confirm(NOW + 9)
        assert await loaded(disk, lambda copy: copy.confirmed_at == NOW + 9) == Copy(RECORDS, 1, NOW + 9)
        task.cancel()


async def test_a_disk_that_refuses_is_told_and_tried_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A full disk does not end the gateway; a file that vanished is made anew."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=0.01)
    table.replace(RECORDS, 1)
    table.confirm(NOW)
    path.parent.parent.joinpath("gateway").write_text("a file in the folder's place")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(disk.keep(table))
        async with asyncio.timeout(5):
            while "could not be written" not in caplog.text:
                await asyncio.sleep(0.01)
        os.unlink(path.parent)
        await loaded(disk, lambda copy: copy.revision == 1)
        path.unlink()
        await loaded(disk, lambda copy: copy.revision == 1)
        task.cancel()
