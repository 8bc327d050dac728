"""Domains that entries have of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.create_table(
        "entry_domain",
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("domain", sa.String(length=253), nullable=False),
        sa.Column("held", sa.String(length=253), nullable=True),
        sa.Column("proof", sa.String(length=64), nullable=True),
        sa.Column("chain_pem", sa.Text(), nullable=False),
        sa.Column("key_sealed", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("sans", sa.JSON(), nullable=False),
        sa.Column("issuer", sa.Text(), nullable=False),
        sa.Column("not_after", sa.Double(), nullable=False),
        sa.Column("warned_days", sa.Integer(), nullable=True),
        sa.Column("pointing", sa.String(length=64), nullable=False),
        sa.Column("addresses", sa.JSON(), nullable=False),
        sa.Column("looked_at", sa.Double(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_entry_domain_entry_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_entry_domain_owner_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("entry_id", name="pk_entry_domain"),
        sa.UniqueConstraint("held", name="uq_entry_domain_held"),
    )
    for column in ("domain", "not_after"):
        op.create_index(f"ix_entry_domain_{column}", "entry_domain", [column], unique=False)
