"""Console sign-ins, and who stands behind a token or a cookie.

A sign-in has three secrets, each kept as SHA-256 only: the bearer token for programs; for a page its
cookie and, because cookies ignore ports, the csrf secret without which the cookie is nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import acting, reached, settle
from control.actions.context import Context, Person
from control.domain.errors import Code, Language, Problem, ProblemError, problem
from control.store import audit, people
from control.store.tables import Session, User
from gateway.contract.people import Scope

SESSION_S: Final = 14 * 24 * 3600
TOKEN_PREFIX: Final = "sl_"  # noqa: S105 - how tokens begin, so that a leaked one is recognised
_SECRET_BYTES: Final = 32
_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A sign-in with its secrets, which are nowhere else."""

    user: User
    expires_at: float
    token: str = field(repr=False)
    cookie: str = field(repr=False)
    csrf: str = field(repr=False)


async def sign_in(ctx: Context, username: str, password: str, address: str, language: Language) -> SignedIn:
    """Starts a sign-in. A person's first one tells in which language the platform speaks to them from then on.

    Raises ProblemError WRONG_PASSWORD, TOO_MANY_ATTEMPTS or USER_DISABLED.
    """
    user = await ctx.signin.check(username, password, address, ctx.now())
    if isinstance(user, Problem):
        await _note_refusal(ctx, username, address, user)
        raise ProblemError(user)
    made = SignedIn(user, ctx.now() + SESSION_S, new_token(), _secret(), _secret())
    new = people.NewSession(
        id=secrets.token_hex(_ID_BYTES),
        token_hash=digest(made.token),
        cookie_hash=digest(made.cookie),
        csrf_hash=digest(made.csrf),
        address=address,
        expires_at=made.expires_at,
    )
    async with acting(ctx, _person(user, address, new.id), "session.start", f"session:{new.id}") as act:
        await people.add_session(act.session, user, new, act.now)
        if user.language == people.UNCHOSEN:
            user.language = language
            row = await act.session.get_one(User, user.id)
            await people.set_language(act.session, row, language, act.now)
        revision = await reached(act)
    await settle(ctx, revision)
    return made


async def sign_out(ctx: Context, who: Person) -> None:
    """Ends the sign-in by which `who` came; one who came by an API token has none to end.

    Answers when the gateways have cut what rested on it, or after a second.
    """
    if who.session_id is None:
        raise problem(Code.NOT_FOUND, what="session")
    async with acting(ctx, who, "session.end", f"session:{who.session_id}") as act:
        revision = await people.end_session(act.session, who.session_id, act.now)
    await settle(ctx, revision)


async def person_of_token(ctx: Context, token: str, address: str) -> Person:
    """The person behind a bearer token: a sign-in's or an API token of scope `api`.

    Raises ProblemError SIGN_IN, SCOPE or USER_DISABLED.
    """
    hashed = digest(token)
    async with ctx.db.read() as session:
        found = await people.session_by_token_hash(session, hashed, ctx.now())
        if found is not None:
            return await _of_user(session, found.user_id, address, found.id)
        api_token = await people.token_by_hash(session, hashed, ctx.now())
        if api_token is None:
            raise problem(Code.SIGN_IN)
        if api_token.scope is not Scope.API:
            raise problem(Code.SCOPE, scope=api_token.scope.value)
        return await _of_user(session, api_token.user_id, address, None)


async def person_of_cookie(ctx: Context, cookies: Sequence[str], csrf: str, address: str) -> Person:
    """The person behind the first of these cookies that is a sign-in whose page knows its secret.

    Raises ProblemError SIGN_IN, or USER_DISABLED.
    """
    async with ctx.db.read() as session:
        for cookie in cookies:
            found = await people.session_by_cookie_hash(session, digest(cookie), ctx.now())
            if found is not None and _knows(found, csrf):
                return await _of_user(session, found.user_id, address, found.id)
    raise problem(Code.SIGN_IN)


async def still_there(ctx: Context, who: Person) -> bool:
    """Whether the sign-in or account behind `who` still holds: asked by connections that stay open."""
    async with ctx.db.read() as session:
        user = await people.user(session, who.id)
        if user is None or user.disabled:
            return False
        if who.session_id is None:
            return True
        found = await session.get(Session, who.session_id)
        return found is not None and found.expires_at > ctx.now()


def new_token() -> str:
    """A bearer token: 256 random bits behind a prefix."""
    return TOKEN_PREFIX + _secret()


def digest(secret: str) -> str:
    """The hex SHA-256 that is stored. The secrets are random, so that nothing slower is needed."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


async def _note_refusal(ctx: Context, username: str, address: str, refusal: Problem) -> None:
    async with ctx.db.write() as session:
        await audit.record(
            session,
            at=ctx.now(),
            user_id=None,
            user_name=username,
            action="session.start",
            subject="session:",
            address=address,
            outcome=refusal.code.value,
        )


def _secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


def _knows(found: Session, csrf: str) -> bool:
    return hmac.compare_digest(found.csrf_hash, digest(csrf))


async def _of_user(session: AsyncSession, user_id: int, address: str, session_id: str | None) -> Person:
    user = await people.user(session, user_id)
    if user is None:
        raise problem(Code.SIGN_IN)
    if user.disabled:
        raise problem(Code.USER_DISABLED)
    return _person(user, address, session_id)


def _person(user: User, address: str, session_id: str | None) -> Person:
    # The column holds what `me.set_language` and the first sign-in let in, zh or en, or nothing before that.
    return Person(user.id, user.name, user.role, cast("Language", user.spoken_language), address, session_id)
