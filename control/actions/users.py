"""Accounts, as administrators keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from control.actions.acting import acting, settle
from control.actions.context import Context, Person
from control.actions.rights import account_named
from control.domain.errors import Code, invalid, problem
from control.domain.people import Role, password_fault, user_name_fault
from control.store import jobs, people
from control.store.tables import User


@dataclass(frozen=True, slots=True)
class Change:
    """What to change of an account; None leaves it."""

    disabled: bool | None = None
    password: str | None = field(default=None, repr=False)


async def page(ctx: Context, name_part: str, page: int, per_page: int) -> tuple[Sequence[User], int]:
    """One page of accounts by name, and how many there are."""
    async with ctx.db.read() as session:
        return await people.users_page(session, offset=(page - 1) * per_page, limit=per_page, name_part=name_part)


async def show(ctx: Context, reference: str) -> User:
    """One account."""
    async with ctx.db.read() as session:
        return await account_named(session, reference)


async def add(ctx: Context, who: Person, name: str, password: str, role: Role) -> User:
    """Makes an account. Raises ProblemError INVALID_INPUT or USER_EXISTS."""
    faults = [wrong for wrong in (user_name_fault(name), password_fault(password)) if wrong is not None]
    if faults:
        raise invalid(*faults)
    hashed = await ctx.signin.hash(password)
    async with acting(ctx, who, "user.add", f"user:{name}") as act:
        user = await people.add_user(act.session, name, hashed, role, act.now)
        act.detail["role"] = role.value
    return user


async def change(ctx: Context, who: Person, reference: str, wish: Change) -> User:
    """Disables, enables, or sets a password. Disabling and a new password end all sign-ins of the person.

    Raises ProblemError INVALID_INPUT, NOT_FOUND or LAST_ADMIN. Answers when the gateways have cut what
    rested on the account, or after a second.
    """
    hashed = None
    if wish.password is not None:
        if (wrong := password_fault(wish.password)) is not None:
            raise invalid(wrong)
        hashed = await ctx.signin.hash(wish.password)
    async with acting(ctx, who, "user.change", f"user:{reference}") as act:
        user = await account_named(act.session, reference)
        revision = 0
        if hashed is not None:
            await people.set_password(act.session, user, hashed)
            revision = await people.end_sessions(act.session, user.id, act.now, but=who.session_id)
            act.detail["password"] = "set"  # noqa: S105 - that it was, not what it is
        if wish.disabled is not None:
            revision = await people.set_disabled(act.session, user, wish.disabled, act.now)
            act.detail["disabled"] = wish.disabled
    await settle(ctx, revision)
    return user


async def remove(ctx: Context, who: Person, reference: str) -> None:
    """Removes an account. Raises ProblemError NOT_FOUND, LAST_ADMIN or USER_HAS_JOBS."""
    async with acting(ctx, who, "user.remove", f"user:{reference}") as act:
        user = await account_named(act.session, reference)
        live = await jobs.live_count(act.session, user.id)
        if live:
            raise problem(Code.USER_HAS_JOBS, count=live)
        revision = await people.remove_user(act.session, user, act.now)
    await settle(ctx, revision)
