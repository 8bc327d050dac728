"""The one sign-in check, used by the API and by gateways (ssh): name and password in, a person or a Problem out.

Holds state: the turns below. Wrong passwords are rows, so that a restart forgets none. Attempts for one
account from one address take turns, so that a thousand at once are not a thousand guesses before the
first failure is written; the costly hash runs in a thread, a few at a time, and whether an address may
try at all is asked only when its hash is next, so that a thousand names at once are no way around it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.errors import Code, Problem
from control.domain.people import FAILURE_WINDOW_S, PASSWORD_CHARACTERS, counted_address, wait_before_attempt_s
from control.store import people
from control.store.engine import Database
from control.store.tables import LoginFailure, User

PASSWORD: Final = "password"  # noqa: S105 - the name of a purpose
REDEEM: Final = "redeem"
_HASHES_AT_ONCE: Final = 2
_ACCOUNT_CHARACTERS: Final = 64


class SignIn:
    """Checks passwords."""

    def __init__(self, db: Database, hasher: PasswordHasher | None = None) -> None:
        self._db = db
        self._hasher = hasher or PasswordHasher()
        # Compared against when there is no such person, so that the answer takes as long.
        self._nobody = self._hasher.hash("nobody has this password")
        self._threads = asyncio.Semaphore(_HASHES_AT_ONCE)
        self._turns: dict[tuple[str, str, str], _Turn] = {}

    async def hash(self, password: str) -> str:
        """The argon2id hash of a new password."""
        async with self._threads:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def check(self, name: str, password: str, address: str, now: float) -> User | Problem:
        """The person, or `wrong_password`, `too_many_attempts` or `user_disabled`.

        Whether the account is disabled is told only to who knows its password.
        """
        account = name[:_ACCOUNT_CHARACTERS]
        async with self.turn(PASSWORD, account, address), self._threads:
            async with self._db.read() as session:
                wait_s = await wait_s_before(session, PASSWORD, account, address, now)
                user = await people.user_by_name(session, name)
            if wait_s:
                return Problem(Code.TOO_MANY_ATTEMPTS, {"retry_after_s": wait_s})
            if not await self._matches(user, password) or user is None:
                async with self._db.write() as session:
                    await add_failure(session, PASSWORD, account, address, now)
                return Problem(Code.WRONG_PASSWORD)
        return Problem(Code.USER_DISABLED) if user.disabled else user

    async def _matches(self, user: User | None, password: str) -> bool:
        if len(password) > PASSWORD_CHARACTERS[1]:
            return False
        return await asyncio.to_thread(self._verify, self._nobody if user is None else user.password_hash, password)

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerifyMismatchError, InvalidHashError, UnicodeEncodeError):
            return False

    @asynccontextmanager
    async def turn(self, purpose: str, account: str, address: str) -> AsyncIterator[None]:
        """One attempt at a time, from asking `wait_s_before` to `add_failure`."""
        key = (purpose, account, counted_address(address))
        turn = self._turns.setdefault(key, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[key]


@dataclass(slots=True)
class _Turn:
    """Who tries one account from one address at this moment."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


async def wait_s_before(session: AsyncSession, purpose: str, account: str, address: str, now: float) -> int:
    """Whole seconds until `account` may be tried again from `address`; 0 when it may be now."""
    recent = select(LoginFailure.account, LoginFailure.at).where(
        LoginFailure.purpose == purpose,
        LoginFailure.address == counted_address(address),
        LoginFailure.at > now - FAILURE_WINDOW_S,
    )
    rows = (await session.execute(recent)).all()
    return wait_before_attempt_s([row.at for row in rows if row.account == account], [row.at for row in rows], now)


async def add_failure(session: AsyncSession, purpose: str, account: str, address: str, now: float) -> None:
    """Remembers a wrong password (PASSWORD) or share code (REDEEM)."""
    place = counted_address(address)
    session.add(LoginFailure(purpose=purpose, account=account[:_ACCOUNT_CHARACTERS], address=place, at=now))
    await session.flush()


async def clear_failures(session: AsyncSession, before: float) -> None:
    """Forgets failures from before `before`."""
    await session.execute(delete(LoginFailure).where(LoginFailure.at < before))
