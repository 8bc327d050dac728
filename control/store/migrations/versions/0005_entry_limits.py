"""Entries hold the limits that their owners set."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.add_column("entry", sa.Column("limits", sa.JSON(), nullable=False, server_default="{}"))
