"""Alembic's entry: runs the migrations on the connection that `store/migrate.py` opened."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context

from control.store import acme_tables as _acme_tables  # noqa: F401 - declares its tables
from control.store import client_tables as _client_tables  # noqa: F401 - declares its tables
from control.store import domain_tables as _domain_tables  # noqa: F401 - declares its table
from control.store.tables import Table, Word


def plain_words(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """A closed choice is a plain text column to a migration: the code's list of choices may grow without one."""
    return "sa.String(64)" if kind == "type" and isinstance(item, Word) else False


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    transactional_ddl=True,
    render_item=plain_words,
)
# The caller's transaction holds it all: nothing is begun or committed here.
context.run_migrations()
