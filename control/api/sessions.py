"""Signing in and out."""

from __future__ import annotations

from typing import Final, Literal

from control.actions import sessions
from control.api import credentials
from control.api.asked import Asked
from control.api.route import Access, Answer, Body, Shape, route
from control.api.values import Instant, Secret


class SignIn(Body):
    """Who signs in."""

    username: Secret
    password: Secret


class SignedInUser(Shape):
    """The person who signed in."""

    id: int
    username: str
    role: Literal["user", "admin"]
    language: str


class SignedIn(Shape):
    """A sign-in. `token` is for programs; a page uses the cookie together with `csrf`, which it keeps."""

    token: str
    csrf: str
    user: SignedInUser
    expires_at: Instant


async def sign_in(asked: Asked, body: SignIn) -> Answer[SignedIn]:
    """Signs in with user name and password.

    Wrong passwords are counted per account and address; 429 says how long to wait.
    """
    made = await sessions.sign_in(asked.ctx, body.username, body.password, asked.address, asked.language)
    user = SignedInUser(
        id=made.user.id, username=made.user.name, role=made.user.role.value, language=made.user.language
    )
    answer = SignedIn(token=made.token, csrf=made.csrf, user=user, expires_at=made.expires_at)
    return Answer(answer, headers={"Set-Cookie": credentials.remember(asked.request, made.cookie, sessions.SESSION_S)})


async def sign_out(asked: Asked) -> Answer[None]:
    """Ends the sign-in that makes this call, with every visit that rests on it."""
    await sessions.sign_out(asked.ctx, asked.who)
    return Answer(None, headers={"Set-Cookie": credentials.forget(asked.request)})


ROUTES: Final = (
    route("POST", "/sessions", sign_in, access=Access.ANYONE, status=201),
    route("DELETE", "/sessions/current", sign_out, status=204),
)
