"""A person and their tokens, as the API shows them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from control.actions.tokens import MadeToken as Made
from control.api.route import Shape
from control.api.values import Instant
from control.store import tables

RoleWord = Literal["user", "admin"]
ScopeWord = Literal["api", "entry:connect"]


class User(Shape):
    """A person."""

    id: int
    username: str
    role: RoleWord
    language: str
    disabled: bool
    created_at: Instant


class Token(Shape):
    """A token, without its secret."""

    id: int
    name: str
    scope: ScopeWord
    entry_id: int | None
    created_at: Instant
    expires_at: Instant | None


class MadeToken(Token):
    """A token just made; `token` is its secret, shown this once. `header` is where an entry takes it."""

    token: str = Field(repr=False)
    header: str = "X-Starlight-Token"


def print_user(row: tables.User) -> User:
    """A person."""
    return User(
        id=row.id,
        username=row.name,
        role=row.role.value,
        language=row.spoken_language,
        disabled=row.disabled,
        created_at=row.created_at,
    )


def print_token(row: tables.Token) -> Token:
    """A token in a list."""
    return Token(
        id=row.id,
        name=row.name,
        scope=row.scope.value,
        entry_id=row.entry_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def print_made_token(made: Made) -> MadeToken:
    """A token with its secret."""
    return MadeToken(token=made.secret, **dict(print_token(made.row)))
