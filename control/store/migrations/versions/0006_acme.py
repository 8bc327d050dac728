"""Certificates that an authority gives by itself over ACME."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.add_column("entry_domain", sa.Column("acme", sa.String(length=64), nullable=True))
    op.create_table(
        "acme_account",
        sa.Column("directory", sa.String(length=500), nullable=False),
        sa.Column("key_sealed", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("directory", name="pk_acme_account"),
    )
    op.create_table(
        "acme_order",
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("domain", sa.String(length=253), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("order_url", sa.Text(), nullable=True),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("authorization", sa.Text(), nullable=True),
        sa.Column("goes_on", sa.Boolean(), nullable=False),
        sa.Column("answered_at", sa.Double(), nullable=True),
        sa.Column("key_sealed", sa.Text(), nullable=True),
        sa.Column("tries", sa.JSON(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("complaint", sa.JSON(), nullable=True),
        sa.Column("chain_pem", sa.Text(), nullable=True),
        sa.Column("pair_key_sealed", sa.Text(), nullable=True),
        sa.Column("not_after", sa.Double(), nullable=True),
        sa.Column("renew_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_acme_order_owner_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("owner_id", "domain", name="pk_acme_order"),
    )
    op.create_index("ix_acme_order_due_at", "acme_order", ["due_at"], unique=False)
