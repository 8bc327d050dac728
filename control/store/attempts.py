"""Wrong passwords and share codes: for whom, from where, when. What follows from them, `domain.people` decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.people import FAILURE_WINDOW_S
from control.store.tables import LoginFailure


class Purpose(StrEnum):
    """What was tried."""

    PASSWORD = "password"  # noqa: S105 - a word, not a password
    REDEEM = "redeem"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try for `account` from `address`; both are bounded to what the table holds."""

    purpose: Purpose
    account: str
    address: str

    @property
    def row(self) -> dict[str, str]:
        """The columns that name it."""
        return {"purpose": self.purpose.value, "account": self.account[:64], "address": self.address[:64]}


async def failed(session: AsyncSession, attempt: Attempt, now: float) -> None:
    """Writes a failure down, and clears away those that no longer count."""
    await session.execute(delete(LoginFailure).where(LoginFailure.at < now - FAILURE_WINDOW_S))
    session.add(LoginFailure(**attempt.row, at=now))
    await session.flush()


async def succeeded(session: AsyncSession, attempt: Attempt) -> None:
    """Forgets the failures of this account from this address: who got in had only mistyped."""
    await session.execute(delete(LoginFailure).filter_by(**attempt.row))


async def recent(session: AsyncSession, attempt: Attempt, now: float) -> tuple[Sequence[float], Sequence[float]]:
    """The instants of recent failures: those of this account from this address, and those of the address in all."""
    wanted = attempt.row
    rows = await session.execute(
        select(LoginFailure.account, LoginFailure.at).where(
            LoginFailure.purpose == wanted["purpose"],
            LoginFailure.address == wanted["address"],
            LoginFailure.at > now - FAILURE_WINDOW_S,
        )
    )
    found = [(account, at) for account, at in rows]
    return [at for account, at in found if account == wanted["account"]], [at for _, at in found]
