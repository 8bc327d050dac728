"""The tables of certificates by ACME: the account at the authority, and what was asked of it for whom."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from control.domain.acme import Facts, Method
from control.store.tables import Table, Word


class AcmeAccount(Table):
    """The account at the authority of one directory. `url` is None until it is registered there."""

    __tablename__ = "acme_account"
    directory: Mapped[str] = mapped_column(String(500), primary_key=True)
    key_sealed: Mapped[str]
    url: Mapped[str | None]
    created_at: Mapped[float]


class AcmeOrder(Table):
    """What a person asked the authority for: one domain, whichever of their entries has it at the time.

    While an order is open there, `order_url` names it, and everything needed to go on with it lies here before the
    authority is asked: after a crash the next look finds the order where it stands. The last pair that was given is
    kept, so that the person's next job with this domain needs no new one (authorities give few in a week).
    """

    __tablename__ = "acme_order"
    owner_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), primary_key=True)
    domain: Mapped[str] = mapped_column(String(253), primary_key=True)
    method: Mapped[Method] = mapped_column(Word(Method))
    created_at: Mapped[float]
    due_at: Mapped[float] = mapped_column(index=True)
    """When it is looked at next."""
    order_url: Mapped[str | None]
    token: Mapped[str | None]
    authorization: Mapped[str | None]
    """The key authorization of the challenge that is open: what the authority is to be shown."""
    goes_on: Mapped[bool] = mapped_column(default=False)
    """A person said that the record stands."""
    answered_at: Mapped[float | None]
    """When the authority was told to look."""
    key_sealed: Mapped[str | None]
    """The key of the certificate that is being asked for."""
    tries: Mapped[list[Any]] = mapped_column(default=list)
    """When orders were opened, the last few."""
    failures: Mapped[int] = mapped_column(default=0)
    complaint: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """Why the last try failed, in the authority's words."""
    chain_pem: Mapped[str | None]
    pair_key_sealed: Mapped[str | None]
    not_after: Mapped[float | None]
    renew_at: Mapped[float | None]

    @property
    def facts(self) -> Facts:
        """Where it stands."""
        return Facts(
            method=self.method,
            is_open=self.order_url is not None,
            is_shown=self.authorization is not None,
            goes_on=self.goes_on,
            is_answered=self.answered_at is not None,
            is_final=self.key_sealed is not None,
            has_pair=self.chain_pem is not None,
            is_refused=self.complaint is not None,
        )
