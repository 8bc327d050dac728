"""People and what they carry: accounts, identities on clusters, sign-ins, API tokens, SSH keys.

Every change also writes what gateways hold of it, so that withdrawing a right cuts its visits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.errors import Code, problem
from control.domain.people import Role
from control.store import clients, feed, records
from control.store.engine import first, tell
from control.store.tables import Grant, Identity, Session, SshKey, Token, User
from gateway.contract.people import Scope

USER_TOPIC: Final = "user"
"""Hints carry the id of a person whose account or sign-ins changed."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A sign-in about to be stored: an id and the hex SHA-256 of its three secrets."""

    id: str
    token_hash: str
    cookie_hash: str
    csrf_hash: str
    address: str
    expires_at: float


UNCHOSEN: Final = ""
"""The language of a person who has not signed in yet; their first sign-in tells it."""


async def add_user(session: AsyncSession, name: str, password_hash: str, role: Role, now: float) -> User:
    """A new person. Raises ProblemError `user_exists` for a name that is or was taken."""
    if await session.scalar(select(User.id).where(User.name == name)) is not None:
        raise problem(Code.USER_EXISTS, name=name)
    user = User(name=name, password_hash=password_hash, role=role, disabled=False, language=UNCHOSEN, created_at=now)
    session.add(user)
    await session.flush()
    await _publish(session, user, now)
    return user


async def user_count(session: AsyncSession) -> int:
    """How many people there ever were: 0 means a first start."""
    return await session.scalar(select(func.count()).select_from(User)) or 0


async def user(session: AsyncSession, user_id: int) -> User | None:
    """The person with this id, unless removed."""
    found = await session.get(User, user_id)
    return None if found is None or found.removed_at is not None else found


async def user_by_name(session: AsyncSession, name: str) -> User | None:
    """The person of this name, unless removed."""
    return await first(session, select(User).where(User.name == name, User.removed_at.is_(None)))


async def names_of(session: AsyncSession, ids: Collection[int]) -> dict[int, str]:
    """The names of these people, removed ones included: their jobs still show an owner."""
    rows = await session.execute(select(User.id, User.name).where(User.id.in_(ids)))
    return {row.id: row.name for row in rows}


async def users_page(
    session: AsyncSession, *, offset: int, limit: int, name_part: str = ""
) -> tuple[Sequence[User], int]:
    """People by name, those whose name holds `name_part`, and how many there are in all."""
    present = User.removed_at.is_(None) & User.name.contains(name_part, autoescape=True)
    rows = await session.scalars(select(User).where(present).order_by(User.name).offset(offset).limit(limit))
    return rows.all(), await session.scalar(select(func.count()).select_from(User).where(present)) or 0


async def enabled_admins(session: AsyncSession) -> int:
    """How many administrators can sign in."""
    able = (User.role == Role.ADMIN, User.disabled.is_(False), User.removed_at.is_(None))
    return await session.scalar(select(func.count()).select_from(User).where(*able)) or 0


async def set_password(session: AsyncSession, user: User, password_hash: str) -> None:
    """A new password; sign-ins are left to the caller."""
    user.password_hash = password_hash
    await session.flush()


async def set_language(session: AsyncSession, user: User, language: str, now: float) -> None:
    """The language that the person chose."""
    user.language = language
    await _publish(session, user, now)


async def set_disabled(session: AsyncSession, user: User, disabled: bool, now: float) -> int:
    """Disables or enables a person and returns the revision at which gateways know. Disabling ends all sign-ins.

    Raises ProblemError `last_admin` when nobody could administer any more.
    """
    if disabled and not user.disabled:
        await _keep_an_admin(session, user)
        await end_sessions(session, user.id, now)
    user.disabled = disabled
    return await _publish(session, user, now)


async def remove_user(session: AsyncSession, user: User, now: float) -> int:
    """Takes a person away with all they carry, but for jobs; returns the revision at which gateways know."""
    await _keep_an_admin(session, user)
    await end_sessions(session, user.id, now)
    for token in await tokens(session, user.id):
        await drop_token(session, token, now)
    for key in await keys(session, user.id):
        await drop_key(session, key, now)
    await clients.drop_of_user(session, user.id, now)
    for grant in (await session.scalars(select(Grant).where(Grant.user_id == user.id))).all():
        await session.delete(grant)
        await feed.drop(session, "grant", grant.id, now)
    user.removed_at, user.disabled = now, True
    tell(session, USER_TOPIC, str(user.id))
    return await feed.drop(session, "user", user.id, now)


async def identity(session: AsyncSession, user_id: int, cluster: str) -> Identity | None:
    """Who a person is on a cluster."""
    return await first(session, select(Identity).where(Identity.user_id == user_id, Identity.cluster == cluster))


async def set_identity(session: AsyncSession, user: User, cluster: str, uid: int | None, home: str) -> Identity:
    """Fixes who a person is on a cluster; an existing identity is brought up to date."""
    found = await identity(session, user.id, cluster)
    if found is None:
        found = Identity(user_id=user.id, cluster=cluster, uid=uid, unix_name=user.name, home=home)
        session.add(found)
    found.uid, found.home = uid, home
    await session.flush()
    return found


async def add_session(session: AsyncSession, user: User, new: NewSession, now: float) -> Session:
    """A sign-in."""
    row = Session(
        id=new.id,
        user_id=user.id,
        token_hash=new.token_hash,
        cookie_hash=new.cookie_hash,
        csrf_hash=new.csrf_hash,
        created_at=now,
        expires_at=new.expires_at,
        address=new.address,
    )
    session.add(row)
    await session.flush()
    await feed.put(session, records.session(row), now)
    return row


async def session(session: AsyncSession, session_id: str, now: float) -> Session | None:
    """The live sign-in with this id."""
    return await first(session, select(Session).where(Session.id == session_id, Session.expires_at > now))


async def session_by_token_hash(session: AsyncSession, token_hash: str, now: float) -> Session | None:
    """The live sign-in with this bearer token."""
    return await first(session, select(Session).where(Session.token_hash == token_hash, Session.expires_at > now))


async def session_by_cookie_hash(session: AsyncSession, cookie_hash: str, now: float) -> Session | None:
    """The live sign-in with this cookie."""
    return await first(session, select(Session).where(Session.cookie_hash == cookie_hash, Session.expires_at > now))


async def end_session(session: AsyncSession, session_id: str, now: float) -> int:
    """Signs out and returns the revision at which gateways know."""
    ended = await session.execute(delete(Session).where(Session.id == session_id).returning(Session.user_id))
    for user_id in ended.scalars():
        tell(session, USER_TOPIC, str(user_id))
    return await feed.drop(session, "session", session_id, now)


async def end_sessions(session: AsyncSession, user_id: int, now: float, *, but: str | None = None) -> int:
    """Ends all of a person's sign-ins, except `but`, and returns the last revision."""
    ids = await session.scalars(select(Session.id).where(Session.user_id == user_id, Session.id != (but or "")))
    return max([await end_session(session, session_id, now) for session_id in ids.all()], default=0)


async def add_token(
    session: AsyncSession,
    user: User,
    *,
    name: str,
    token_hash: str,
    scope: Scope,
    entry_id: int | None,
    expires_at: float | None,
    now: float,
) -> Token:
    """A named token."""
    row = Token(
        user_id=user.id,
        name=name,
        token_hash=token_hash,
        scope=scope,
        entry_id=entry_id,
        created_at=now,
        expires_at=expires_at,
    )
    session.add(row)
    await session.flush()
    await feed.put(session, records.token(row), now)
    return row


async def token_by_hash(session: AsyncSession, token_hash: str, now: float) -> Token | None:
    """The token with this hash, unless it has expired."""
    live = Token.expires_at.is_(None) | (Token.expires_at > now)
    return await first(session, select(Token).where(Token.token_hash == token_hash, live))


async def tokens(session: AsyncSession, user_id: int) -> Sequence[Token]:
    """A person's tokens, oldest first."""
    return (await session.scalars(select(Token).where(Token.user_id == user_id).order_by(Token.id))).all()


async def drop_token(session: AsyncSession, token: Token, now: float) -> int:
    """Withdraws a token and returns the revision at which gateways know."""
    await session.delete(token)
    return await feed.drop(session, "token", token.id, now)


async def add_key(
    session: AsyncSession, user: User, *, name: str, public_key: str, fingerprint: str, now: float
) -> SshKey:
    """A public key of a person. Raises ProblemError `key_exists` when they have it already."""
    same = select(SshKey.id).where(SshKey.user_id == user.id, SshKey.fingerprint == fingerprint)
    if await session.scalar(same) is not None:
        raise problem(Code.KEY_EXISTS, fingerprint=fingerprint)
    row = SshKey(user_id=user.id, name=name, public_key=public_key, fingerprint=fingerprint, created_at=now)
    session.add(row)
    await session.flush()
    await feed.put(session, records.key(row), now)
    return row


async def keys(session: AsyncSession, user_id: int) -> Sequence[SshKey]:
    """A person's public keys, oldest first."""
    return (await session.scalars(select(SshKey).where(SshKey.user_id == user_id).order_by(SshKey.id))).all()


async def drop_key(session: AsyncSession, key: SshKey, now: float) -> int:
    """Withdraws a public key and returns the revision at which gateways know."""
    await session.delete(key)
    return await feed.drop(session, "key", key.id, now)


async def _publish(session: AsyncSession, user: User, now: float) -> int:
    await session.flush()
    tell(session, USER_TOPIC, str(user.id))
    return await feed.put(session, records.user(user), now)


async def _keep_an_admin(session: AsyncSession, user: User) -> None:
    if user.role is Role.ADMIN and not user.disabled and await enabled_admins(session) <= 1:
        raise problem(Code.LAST_ADMIN)
