"""Client certificates and their authorities."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.create_table(
        "client_authority",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("certificate_pem", sa.Text(), nullable=False),
        sa.Column("key_sealed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_client_authority"),
        sa.UniqueConstraint("generation", name="uq_client_authority_generation"),
    )
    op.create_table(
        "client_certificate",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("serial", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_client_certificate_entry_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user_account.id"], name="fk_client_certificate_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_client_certificate"),
        sa.UniqueConstraint("fingerprint", name="uq_client_certificate_fingerprint"),
        sqlite_autoincrement=True,
    )
    for column in ("entry_id", "expires_at", "user_id"):
        op.create_index(f"ix_client_certificate_{column}", "client_certificate", [column], unique=False)
