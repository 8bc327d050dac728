"""The signed-in person: language, password, SSH keys, API tokens."""

from __future__ import annotations

from typing import Final, Literal

from control.actions import keys, me, tokens
from control.api.asked import Asked
from control.api.route import Body, Shape, route
from control.api.shapes.people import MadeToken, ScopeWord, Token, User, print_made_token, print_token, print_user
from control.api.values import Instant, Line, Listed, Raw, Reference, Secret, When, whole
from control.store import tables
from gateway.contract.people import Scope


class Preferences(Body):
    """What a person may set for themselves."""

    language: Literal["zh", "en"]


class NewPassword(Body):
    """A change of password."""

    current: Secret
    new: Secret


class NewKey(Body):
    """An SSH public key, one line as in `id_ed25519.pub`. Without a name the key's own comment is taken."""

    name: Line | None = None
    public_key: Raw


class Key(Shape):
    """An SSH public key of the person's profile."""

    id: int
    name: str
    fingerprint: str
    public_key: str
    created_at: Instant


class NewToken(Body):
    """A named token. `entry` (an id or a label) goes with the scope `entry:connect`."""

    name: Line
    scope: ScopeWord = "api"
    entry: Reference | None = None
    expires_at: When | None = None


async def show_me(asked: Asked) -> User:
    """The signed-in person."""
    return print_user(await me.show(asked.ctx, asked.who))


async def change_me(asked: Asked, body: Preferences) -> User:
    """Sets the language in which the platform speaks to the person."""
    return print_user(await me.set_language(asked.ctx, asked.who, body.language))


async def change_password(asked: Asked, body: NewPassword) -> None:
    """Sets a new password. The person's other sign-ins end."""
    await me.change_password(asked.ctx, asked.who, body.current, body.new)


async def list_keys(asked: Asked) -> Listed[Key]:
    """The person's SSH public keys."""
    return whole([_print_key(key) for key in await keys.list_keys(asked.ctx, asked.who)])


async def add_key(asked: Asked, body: NewKey) -> Key:
    """Adds an SSH public key; it admits to every job the person may enter."""
    return _print_key(await keys.add(asked.ctx, asked.who, body.public_key, body.name))


async def remove_key(asked: Asked, key: int) -> None:
    """Removes an SSH public key and ends what rests on it."""
    await keys.remove(asked.ctx, asked.who, key)


async def list_tokens(asked: Asked) -> Listed[Token]:
    """The person's tokens, without their secrets."""
    return whole([print_token(token) for token in await tokens.list_tokens(asked.ctx, asked.who)])


async def add_token(asked: Asked, body: NewToken) -> MadeToken:
    """Makes a token. Its secret is in this answer and nowhere else."""
    wish = tokens.Wish(body.name, Scope(body.scope), body.entry, body.expires_at)
    return print_made_token(await tokens.make(asked.ctx, asked.who, wish))


async def remove_token(asked: Asked, token: int) -> None:
    """Withdraws a token and ends what rests on it."""
    await tokens.withdraw(asked.ctx, asked.who, token)


def _print_key(key: tables.SshKey) -> Key:
    return Key(
        id=key.id, name=key.name, fingerprint=key.fingerprint, public_key=key.public_key, created_at=key.created_at
    )


ROUTES: Final = (
    route("GET", "/me", show_me),
    route("PATCH", "/me", change_me),
    route("PUT", "/me/password", change_password, status=204),
    route("GET", "/me/keys", list_keys),
    route("POST", "/me/keys", add_key, status=201),
    route("DELETE", "/me/keys/{key}", remove_key, status=204),
    route("GET", "/me/tokens", list_tokens),
    route("POST", "/me/tokens", add_token, status=201),
    route("DELETE", "/me/tokens/{token}", remove_token, status=204),
)
