"""A shell of alice's, signed in at the running API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from control.domain.people import Role
from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from tests.control.api.desk import Desk, open_desk
from tests.control.cli.shell import Shell, signed_in


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """The running API over SQLite."""
    db = Database(make_engine(f"sqlite:///{tmp_path}/starlight.db"))
    await upgrade(db)
    async with open_desk(db, tmp_path) as opened:
        yield opened
    await db.close()


@pytest.fixture
async def shell(desk: Desk, tmp_path: Path) -> Shell:
    """Alice's shell."""
    return await signed_in(desk, tmp_path / "alice", "alice")


@pytest.fixture
async def admin_shell(desk: Desk, tmp_path: Path) -> Shell:
    """An administrator's shell."""
    return await signed_in(desk, tmp_path / "root", "root", Role.ADMIN)
