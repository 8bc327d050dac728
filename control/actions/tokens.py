"""Named tokens: for the whole API as their person, or for passing one entry and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import acting, reached, settle
from control.actions.context import Context, Person
from control.actions.rights import passable_entry
from control.actions.sessions import digest, new_token
from control.domain.errors import Code, FieldCode, fault, invalid, problem
from control.store import people
from control.store.tables import Token, User
from gateway.contract.people import Scope

ENTRY_TOKEN_S: Final = 7 * 24 * 3600.0
"""How long a token for one entry lives unless its maker says otherwise."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A token to make. `entry` (id or label) goes with the scope `entry:connect`, and is None for `api`."""

    name: str
    scope: Scope
    entry: str | None
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A token and its secret, which is shown this once."""

    row: Token
    secret: str = field(repr=False)


async def list_tokens(ctx: Context, who: Person) -> Sequence[Token]:
    """The person's tokens, oldest first."""
    async with ctx.db.read() as session:
        return await people.tokens(session, who.id)


async def make(ctx: Context, who: Person, wish: Wish) -> MadeToken:
    """Makes a token of `who`. Raises ProblemError INVALID_INPUT, NOT_FOUND or ENTRY_FORBIDDEN."""
    _check(wish, ctx.now())
    secret = new_token()
    async with acting(ctx, who, "token.make", f"user:{who.id}") as act:
        row = await people.add_token(
            act.session,
            await act.session.get_one(User, who.id),
            name=wish.name,
            token_hash=digest(secret),
            scope=wish.scope,
            entry_id=await _entry_id(act.session, who, wish, act.now),
            expires_at=wish.expires_at,
            now=act.now,
        )
        act.subject = f"token:{row.id}"
        act.detail |= {"scope": wish.scope.value, "entry": row.entry_id}
        revision = await reached(act)
    await settle(ctx, revision)
    return MadeToken(row, secret)


async def make_for_entry(
    ctx: Context, who: Person, entry: str, name: str | None, expires_at: float | None
) -> MadeToken:
    """A token that can do nothing but pass this entry, for ENTRY_TOKEN_S unless said otherwise."""
    until = ctx.now() + ENTRY_TOKEN_S if expires_at is None else expires_at
    return await make(ctx, who, Wish(name or f"entry {entry[:8]}", Scope.ENTRY_CONNECT, entry, until))


async def withdraw(ctx: Context, who: Person, token_id: int) -> None:
    """Withdraws a token of the person; visits that rest on it end within a second."""
    async with acting(ctx, who, "token.withdraw", f"token:{token_id}") as act:
        row = await act.session.get(Token, token_id)
        if row is None or row.user_id != who.id:
            raise problem(Code.NOT_FOUND, what=f"#{token_id}")
        revision = await people.drop_token(act.session, row, act.now)
    await settle(ctx, revision)


def _check(wish: Wish, now: float) -> None:
    faults = []
    if not wish.name.strip():
        faults.append(fault("name", FieldCode.REQUIRED))
    if wish.scope is Scope.API and wish.entry is not None:
        faults.append(fault("entry", FieldCode.NOT_ALLOWED))
    if wish.expires_at is not None and wish.expires_at <= now:
        faults.append(fault("expires_at", FieldCode.IN_THE_PAST))
    if faults:
        raise invalid(*faults)


async def _entry_id(session: AsyncSession, who: Person, wish: Wish, now: float) -> int | None:
    if wish.entry is None:
        return None
    entry, _ = await passable_entry(session, who, wish.entry, now)
    return entry.id
