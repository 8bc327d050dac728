"""The table of domains that entries have of their own, with the certificates that serve them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from control.domain.acme import Method
from control.domain.domains import Pointing, Proof
from control.store.tables import Table, Word


class EntryDomain(Table):
    """The domain that an entry asked for.

    `held` is the domain while the entry has it to itself, None once its job ended or its true owner came.
    Gateways serve it from the moment that `proof` and a certificate are there. `acme` tells how an authority gives
    the certificate by itself, None where its owner brings one; until the first is given, `chain_pem` and what
    stands beside it are empty.
    """

    __tablename__ = "entry_domain"
    entry_id: Mapped[int] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    domain: Mapped[str] = mapped_column(String(253), index=True)
    held: Mapped[str | None] = mapped_column(String(253), unique=True)
    proof: Mapped[Proof | None] = mapped_column(Word(Proof))
    acme: Mapped[Method | None] = mapped_column(Word(Method))
    chain_pem: Mapped[str]
    key_sealed: Mapped[str]
    subject: Mapped[str]
    sans: Mapped[list[Any]]
    issuer: Mapped[str]
    not_after: Mapped[float] = mapped_column(index=True)
    warned_days: Mapped[int | None]
    """The last warning of the certificate's end that was given: one of WARN_DAYS, or 0 for the end itself."""
    pointing: Mapped[Pointing] = mapped_column(Word(Pointing), default=Pointing.UNKNOWN)
    addresses: Mapped[list[Any]] = mapped_column(default=list)
    looked_at: Mapped[float | None]
    """When the name service was last asked."""
    created_at: Mapped[float]

    @property
    def serves(self) -> bool:
        """Whether gateways serve the entry under this domain."""
        return self.held is not None and self.proof is not None and self.has_pair

    @property
    def has_pair(self) -> bool:
        """Whether there is a certificate."""
        return bool(self.chain_pem)

    @property
    def certificate_id(self) -> str:
        """The id under which gateways have the certificate."""
        return f"entry-{self.entry_id}"


class ProvedDomain(Table):
    """Who proved a domain last. It outlives the entries that served it.

    People leave the DNS of a name as it was when their job ends. Without this memory whoever asks next for that name
    gets a trusted certificate for it, as it still leads here.
    """

    __tablename__ = "proved_domain"
    domain: Mapped[str] = mapped_column(String(253), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    proved_at: Mapped[float]
