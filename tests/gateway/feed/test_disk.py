"""The sealed copy on disk: whole or none, for our key only, written now and then."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.contract.codec import Record
from gateway.contract.routes import Certificate
from gateway.core.table import Table
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


def test_what_was_saved_is_loaded(path: Path) -> None:
    """Every kind of record, the revision, and the time of the last confirmation come back."""
    copy = Copy(RECORDS, 7, NOW)
    Disk(path, KEY).save(copy)
    assert Disk(path, KEY).load() == copy


def test_the_copy_is_private_and_tells_nothing(path: Path) -> None:
    """Mode 0600, and neither names nor keys in the file."""
    Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
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
        lambda sealed: sealed.replace(b"feed 1", b"feed 0"),
        lambda sealed: b"\x00" * len(sealed),
    ],
)
def test_a_spoilt_copy_counts_as_none(path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """Damage, an earlier version, an empty file: the gateway waits for control instead."""
    Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
    path.write_bytes(spoil(path.read_bytes()))
    assert Disk(path, KEY).load() is None


def test_another_key_opens_nothing(path: Path) -> None:
    """A copy of another installation is none."""
    Disk(path, KEY).save(Copy(RECORDS, 7, NOW))
    assert Disk(path, bytes(32)).load() is None


def test_no_copy_is_none(path: Path) -> None:
    """The first start has none."""
    assert Disk(path, KEY).load() is None


async def saved_again(path: Path, before: int = 0) -> int:
    """The inode of a copy that is newer than `before`."""
    async with asyncio.timeout(5):
        while True:
            if path.exists() and path.stat().st_ino != before:
                return path.stat().st_ino
            await asyncio.sleep(0.01)


async def test_edits_are_written_at_most_so_often(path: Path) -> None:
    """Many edits in a row make one copy; the next one comes after the pause."""
    table, disk = Table(), Disk(path, KEY, every_s=0.1, refresh_s=60)
    table.replace(RECORDS, 1)
    table.confirm(NOW)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(disk.keep(table))
        for _ in range(5):
            disk.edited()
        first = await saved_again(path)
        table.replace([world.user()], 2)
        disk.edited()
        await saved_again(path, first)
        keeping.cancel()
    loaded = disk.load()
    assert loaded == Copy([world.user()], 2, NOW)


async def test_an_unchanged_table_is_refreshed(path: Path) -> None:
    """Its confirmation goes on, so that a restart does not take it for older than it is."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=0.05)
    table.replace(RECORDS, 1)
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(disk.keep(table))
        await asyncio.sleep(0.1)
        assert not path.exists()  # never confirmed: nothing worth keeping
        table.confirm(NOW)
        await saved_again(path, await saved_again(path))
        keeping.cancel()


async def test_a_disk_that_refuses_is_told_and_tried_again(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A full disk does not end the gateway."""
    table, disk = Table(), Disk(path, KEY, every_s=0.01, refresh_s=0.01)
    table.replace(RECORDS, 1)
    table.confirm(NOW)
    path.parent.parent.joinpath("gateway").write_text("a file in the folder's place")
    async with asyncio.TaskGroup() as group:
        keeping = group.create_task(disk.keep(table))
        async with asyncio.timeout(5):
            while "could not be written" not in caplog.text:
                await asyncio.sleep(0.01)
        os.unlink(path.parent)
        await saved_again(path)
        keeping.cancel()
