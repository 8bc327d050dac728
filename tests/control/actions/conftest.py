"""The platform's parts over SQLite, and people who ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from control.actions.context import Context, Person
from control.domain.people import Role
from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from tests.control.api.desk import Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Everything that actions are given, with what tests turn within reach."""
    db = Database(make_engine(f"sqlite:///{tmp_path}/starlight.db"))
    await upgrade(db)
    async with open_desk(db, tmp_path) as opened:
        yield opened
    await db.close()


@pytest.fixture
def ctx(desk: Desk) -> Context:
    """What every action is given."""
    return desk.ctx


async def person(desk: Desk, name: str, role: Role = Role.USER) -> Person:
    """A new account, as actions see who asks."""
    return Person(await desk.add_user(name, role), name, role, "en", "192.0.2.1")


@pytest.fixture
async def alice(desk: Desk) -> Person:
    """A person."""
    return await person(desk, "alice")


@pytest.fixture
async def bob(desk: Desk) -> Person:
    """Another."""
    return await person(desk, "bob")


@pytest.fixture
async def admin(desk: Desk) -> Person:
    """An administrator."""
    return await person(desk, "root", Role.ADMIN)
