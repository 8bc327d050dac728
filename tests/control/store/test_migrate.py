"""The migrations make exactly the tables that the code declares."""

from __future__ import annotations

import asyncio

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.engine import Connection

from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from control.store.tables import Table


async def test_migrations_make_the_tables_that_the_code_declares(db: Database) -> None:
    """Nothing is left for autogenerate to find. (Types are left out: a closed choice is text to the database.)"""

    def compare(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        return list(compare_metadata(context, Table.metadata))

    async with db.engine.connect() as connection:
        assert await connection.run_sync(compare) == []


async def test_upgrading_again_changes_nothing(db: Database) -> None:
    """Each start upgrades; a database of this version is left as it is."""
    await upgrade(db)
    async with db.read() as session:
        assert (await session.execute(text("SELECT count(*) FROM alembic_version"))).scalar_one() == 1


async def test_two_starts_at_once_upgrade_one_after_the_other(database_url: str) -> None:
    """Neither of two processes that start together finds half of the tables."""
    first, second = Database(make_engine(database_url)), Database(make_engine(database_url))
    await asyncio.gather(upgrade(first), upgrade(second))
    async with second.read() as session:
        assert (await session.execute(text("SELECT count(*) FROM job"))).scalar_one() == 0
    await first.close()
    await second.close()
