"""Who proved a domain last, also when no entry has it any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_PROVED = """
INSERT INTO proved_domain (domain, owner_id, proved_at)
SELECT domain, MAX(owner_id), MAX(created_at) FROM entry_domain WHERE proof IS NOT NULL GROUP BY domain
"""


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.create_table(
        "proved_domain",
        sa.Column("domain", sa.String(length=253), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("proved_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["user_account.id"], name="fk_proved_domain_owner_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("domain", name="pk_proved_domain"),
    )
    op.execute(_PROVED)
