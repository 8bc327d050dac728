"""Brings a database to this version's tables, at start, one process at a time.

The whole upgrade is one write transaction: a process that dies half-way leaves the database as it was,
and one that starts beside it waits for its turn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy.engine import Connection

from control.store.engine import Database

_SCRIPTS: Final = Path(__file__).parent / "migrations"


async def upgrade(db: Database) -> None:
    """Applies what is missing. Raises alembic's CommandError for a database of a later version."""
    async with db.write() as session:
        connection = await session.connection()
        await connection.run_sync(_upgrade)


def config(connection: Connection) -> Config:
    """Alembic's settings for one open connection; there is no alembic.ini."""
    made = Config()
    made.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def _upgrade(connection: Connection) -> None:
    command.upgrade(config(connection), "head")
