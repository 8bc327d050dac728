"""Accounts, for administrators."""

from __future__ import annotations

from typing import Final

from control.actions import users
from control.api.asked import Asked
from control.api.route import Access, Body, route
from control.api.shapes.people import RoleWord, User, print_user
from control.api.values import Line, Listed, PageQuery, Secret
from control.domain.people import Role


class NewUser(Body):
    """An account to make."""

    username: Secret
    password: Secret
    role: RoleWord = "user"


class UserChange(Body):
    """What to change; what is left out stays."""

    disabled: bool | None = None
    password: Secret | None = None


class UsersQuery(PageQuery):
    """Which accounts: `q` is a part of the name."""

    q: Line | None = None


async def list_users(asked: Asked, query: UsersQuery) -> Listed[User]:
    """Accounts by name."""
    rows, total = await users.page(asked.ctx, query.q or "", query.page, query.per_page)
    return Listed(items=[print_user(row) for row in rows], total=total, page=query.page, per_page=query.per_page)


async def add_user(asked: Asked, body: NewUser) -> User:
    """Makes an account."""
    return print_user(await users.add(asked.ctx, asked.who, body.username, body.password, Role(body.role)))


async def show_user(asked: Asked, user: str) -> User:
    """One account, by number or name."""
    return print_user(await users.show(asked.ctx, user))


async def change_user(asked: Asked, user: str, body: UserChange) -> User:
    """Disables or enables an account, or sets its password. Both end the person's sign-ins and their visits."""
    change = users.Change(disabled=body.disabled, password=body.password)
    return print_user(await users.change(asked.ctx, asked.who, user, change))


async def remove_user(asked: Asked, user: str) -> None:
    """Removes an account that has no live jobs. Its name is not given again."""
    await users.remove(asked.ctx, asked.who, user)


ROUTES: Final = (
    route("GET", "/users", list_users, access=Access.ADMIN),
    route("POST", "/users", add_user, access=Access.ADMIN, status=201),
    route("GET", "/users/{user}", show_user, access=Access.ADMIN),
    route("PATCH", "/users/{user}", change_user, access=Access.ADMIN),
    route("DELETE", "/users/{user}", remove_user, access=Access.ADMIN, status=204),
)
