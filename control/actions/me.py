"""What people do with their own account."""

from __future__ import annotations

from control.actions.acting import acting, settle
from control.actions.context import Context, Person
from control.domain.errors import Code, FieldCode, Language, Problem, ProblemError, fault, invalid
from control.domain.people import password_fault
from control.store import people
from control.store.tables import User


async def show(ctx: Context, who: Person) -> User:
    """The person's own account."""
    async with ctx.db.read() as session:
        return await session.get_one(User, who.id)


async def set_language(ctx: Context, who: Person, language: Language) -> User:
    """Sets the language in which the platform speaks to the person (gateways' pages and the ssh menu too)."""
    async with acting(ctx, who, "user.language", f"user:{who.id}") as act:
        user = await act.session.get_one(User, who.id)
        await people.set_language(act.session, user, language, act.now)
    return user


async def change_password(ctx: Context, who: Person, current: str, new: str) -> None:
    """Sets a new password; every other sign-in of the person ends, this one stays.

    Answers when the gateways have cut what rested on those, or after a second.
    Raises ProblemError INVALID_INPUT (naming `current` when it is wrong) or TOO_MANY_ATTEMPTS.
    """
    if (wrong := password_fault(new, "new")) is not None:
        raise invalid(wrong)
    checked = await ctx.signin.check(who.name, current, who.address, ctx.now())
    if isinstance(checked, Problem):
        is_wrong = checked.code is Code.WRONG_PASSWORD
        raise invalid(fault("current", FieldCode.WRONG_PASSWORD)) if is_wrong else ProblemError(checked)
    hashed = await ctx.signin.hash(new)
    async with acting(ctx, who, "user.password", f"user:{who.id}") as act:
        user = await act.session.get_one(User, who.id)
        await people.set_password(act.session, user, hashed)
        revision = await people.end_sessions(act.session, who.id, act.now, but=who.session_id)
    await settle(ctx, revision)
