"""Entries tell which other sites' pages may call them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.add_column("entry", sa.Column("cors_origins", sa.JSON(), nullable=False, server_default="[]"))
