"""Entries hold the certificate that their https apps must show."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.add_column("entry", sa.Column("app_pin", sa.String(64), nullable=True))
