"""The tables of client certificates: the authorities that signed them, and which of them still stand.

A certificate's key is handed out once and kept nowhere.
"""

from __future__ import annotations

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from control.store.tables import Table


class ClientAuthority(Table):
    """An authority for client certificates; its key is sealed at rest. The newest signs."""

    __tablename__ = "client_authority"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    generation: Mapped[int] = mapped_column(unique=True)
    certificate_pem: Mapped[str]
    key_sealed: Mapped[str]
    created_at: Mapped[float]


class ClientCertificate(Table):
    """A certificate by which a person passes one entry. Ids are never given twice: visits rest on them."""

    __tablename__ = "client_certificate"
    __table_args__ = ({"sqlite_autoincrement": True},)
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"), index=True)
    serial: Mapped[str] = mapped_column(String(64))
    fingerprint: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)
