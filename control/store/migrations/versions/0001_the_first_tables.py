"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Towards this version. There is no way back but a backup."""
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"], unique=False)
    op.create_index("ix_audit_subject", "audit", ["subject"], unique=False)
    op.create_table(
        "certificate",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("chain_pem", sa.Text(), nullable=False),
        sa.Column("key_sealed", sa.Text(), nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=False),
        sa.Column("not_after", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_certificate"),
    )
    op.create_table(
        "counter",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_counter"),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )
    op.create_table(
        "login_failure",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("account", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_login_failure"),
    )
    op.create_index("ix_login_failure_address_at", "login_failure", ["address", "at"], unique=False)
    op.create_index("ix_login_failure_at", "login_failure", ["at"], unique=False)
    op.create_table(
        "meta",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_meta"),
    )
    op.create_table(
        "record",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("written_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "key", name="pk_record"),
        sa.UniqueConstraint("revision", name="uq_record_revision"),
    )
    op.create_table(
        "secret",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("use", sa.String(length=16), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("value_sealed", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_secret"),
        sa.UniqueConstraint("use", "generation", name="uq_secret_use_generation"),
    )
    op.create_table(
        "user_account",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.String(64), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("removed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_user_account"),
        sa.UniqueConstraint("name", name="uq_user_account_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "identity",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("uid", sa.BigInteger(), nullable=True),
        sa.Column("unix_name", sa.Text(), nullable=False),
        sa.Column("home", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_identity_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_identity"),
        sa.UniqueConstraint("user_id", "cluster", name="uq_identity_user_id_cluster"),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("app", sa.Text(), nullable=True),
        sa.Column("cluster", sa.String(length=64), nullable=False),
        sa.Column("partition", sa.String(length=64), nullable=False),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("command", sa.JSON(), nullable=False),
        sa.Column("env", sa.JSON(), nullable=False),
        sa.Column("nodes", sa.Integer(), nullable=False),
        sa.Column("cpus", sa.Integer(), nullable=False),
        sa.Column("gpus", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=True),
        sa.Column("time_limit_s", sa.Integer(), nullable=True),
        sa.Column("readonly", sa.JSON(), nullable=False),
        sa.Column("home", sa.Text(), nullable=False),
        sa.Column("work_dir", sa.Text(), nullable=False),
        sa.Column("client_key", sa.String(length=200), nullable=True),
        sa.Column("wanted", sa.String(64), nullable=False),
        sa.Column("state", sa.String(64), nullable=False),
        sa.Column("reason_code", sa.String(64), nullable=True),
        sa.Column("reason_params", sa.JSON(), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("handle", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("engine_heard_at", sa.Double(), nullable=False),
        sa.Column("node", sa.Text(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("submitted_at", sa.Double(), nullable=False),
        sa.Column("scheduled_at", sa.Double(), nullable=True),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("released_at", sa.Double(), nullable=True),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("closing_at", sa.Double(), nullable=True),
        sa.Column("closing_by", sa.Text(), nullable=True),
        sa.Column("closed_at", sa.Double(), nullable=True),
        sa.Column("forgotten", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["owner_id"], ["user_account.id"], name="fk_job_owner_id"),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sa.UniqueConstraint("number", name="uq_job_number"),
        sa.UniqueConstraint("owner_id", "client_key", name="uq_job_owner_id_client_key"),
    )
    op.create_index("ix_job_owner_state", "job", ["owner_id", "state"], unique=False)
    op.create_index("ix_job_revision", "job", ["revision"], unique=False)
    op.create_index("ix_job_state", "job", ["state"], unique=False)
    op.create_table(
        "session",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("cookie_hash", sa.String(length=64), nullable=False),
        sa.Column("csrf_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_session_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_session"),
        sa.UniqueConstraint("cookie_hash", name="uq_session_cookie_hash"),
        sa.UniqueConstraint("token_hash", name="uq_session_token_hash"),
    )
    op.create_index("ix_session_expires_at", "session", ["expires_at"], unique=False)
    op.create_index("ix_session_user_id", "session", ["user_id"], unique=False)
    op.create_table(
        "ssh_key",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("last_used_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_ssh_key_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_ssh_key"),
        sa.UniqueConstraint("user_id", "fingerprint", name="uq_ssh_key_user_id_fingerprint"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_ssh_key_fingerprint", "ssh_key", ["fingerprint"], unique=False)
    op.create_table(
        "entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=32), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("protocol", sa.String(64), nullable=False),
        sa.Column("level", sa.String(64), nullable=False),
        sa.Column("port_kind", sa.String(64), nullable=False),
        sa.Column("port", sa.Integer(), nullable=False),
        sa.Column("held_port", sa.Integer(), nullable=True),
        sa.Column("host", sa.String(length=253), nullable=False),
        sa.Column("target_port", sa.Integer(), nullable=True),
        sa.Column("service", sa.String(64), nullable=False),
        sa.Column("app_protocol", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("ready_at", sa.Double(), nullable=True),
        sa.Column("port_lost", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_entry_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_entry"),
        sa.UniqueConstraint("held_port", name="uq_entry_held_port"),
        sa.UniqueConstraint("job_id", "name", name="uq_entry_job_id_name"),
        sa.UniqueConstraint("job_id", "target_port", name="uq_entry_job_id_target_port"),
        sa.UniqueConstraint("label", name="uq_entry_label"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entry_host", "entry", ["host"], unique=False)
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("params", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name="fk_event_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_job_id", "event", ["job_id"], unique=False)
    op.create_table(
        "grant_given",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("redeemed_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_grant_given_entry_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_grant_given_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_grant_given"),
        sa.UniqueConstraint("entry_id", "user_id", name="uq_grant_given_entry_id_user_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_grant_given_user_id", "grant_given", ["user_id"], unique=False)
    op.create_table(
        "hop_code",
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("challenge", sa.String(length=64), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_hop_code_entry_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name="fk_hop_code_session_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_hop_code_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("code_hash", name="pk_hop_code"),
    )
    op.create_index("ix_hop_code_expires_at", "hop_code", ["expires_at"], unique=False)
    op.create_table(
        "share",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=False),
        sa.Column("code_hmac", sa.String(length=64), nullable=False),
        sa.Column("code_sealed", sa.Text(), nullable=False),
        sa.Column("chosen", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("max_uses", sa.Integer(), nullable=True),
        sa.Column("uses", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_share_entry_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_share"),
        sa.UniqueConstraint("entry_id", name="uq_share_entry_id"),
    )
    op.create_index("ix_share_code_hmac", "share", ["code_hmac"], unique=False)
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("entry_id", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=True),
        sa.Column("last_used_at", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["entry_id"], ["entry.id"], name="fk_token_entry_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name="fk_token_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("token_hash", name="uq_token_token_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_token_user_id", "token", ["user_id"], unique=False)
