"""The running API over SQLite for most tests, over both databases for the core."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from control.domain.people import Role
from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from tests.control.api.desk import Caller, Desk, open_desk


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Database]:
    """A SQLite database with this version's tables."""
    made = Database(make_engine(f"sqlite:///{tmp_path}/starlight.db"))
    await upgrade(made)
    yield made
    await made.close()


@pytest.fixture
async def desk(sqlite: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    """The running API."""
    async with open_desk(sqlite, tmp_path) as opened:
        yield opened


@pytest.fixture
async def both_desks(db: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    """The running API, once over each kind of database."""
    async with open_desk(db, tmp_path) as opened:
        yield opened


@pytest.fixture
async def alice(desk: Desk) -> Caller:
    """A person with an account, signed in."""
    return await desk.person("alice")


@pytest.fixture
async def bob(desk: Desk) -> Caller:
    """Another person."""
    return await desk.person("bob")


@pytest.fixture
async def admin(desk: Desk) -> Caller:
    """An administrator."""
    return await desk.person("root", Role.ADMIN)
