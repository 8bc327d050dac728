"""Accounts, as administrators keep them."""

from __future__ import annotations

from control.actions import jobs, users
from control.actions.context import Context, Person
from control.actions.submission import Wish
from control.domain.errors import Code
from control.domain.people import Role
from control.store import audit
from tests.control.actions.refused import refused
from tests.control.api.desk import PASSWORD, Desk


async def test_all_faults_of_an_account_are_told_at_once(ctx: Context, admin: Person) -> None:
    """Before anything is hashed or written."""
    with refused(Code.INVALID_INPUT):
        await users.add(ctx, admin, "Not A Name", "short", Role.USER)
    made = await users.add(ctx, admin, "carol", PASSWORD, Role.ADMIN)
    assert (made.name, made.role) == ("carol", Role.ADMIN)
    with refused(Code.USER_EXISTS):
        await users.add(ctx, admin, "carol", PASSWORD, Role.USER)


async def test_changes_wait_for_the_gateways_and_are_in_the_audit(
    desk: Desk, ctx: Context, alice: Person, admin: Person
) -> None:
    """What was changed, never the password itself."""
    await users.change(ctx, admin, "alice", users.Change(disabled=True, password="battery staple"))
    assert desk.gateways.asked[-1] > 0
    async with ctx.db.read() as session:
        row = (await audit.recent(session))[0]
    assert (row.subject, row.detail) == ("user:alice", {"password": "set", "disabled": True})
    with refused(Code.INVALID_INPUT):
        await users.change(ctx, admin, "alice", users.Change(password="short"))


async def test_an_account_with_live_jobs_stays(ctx: Context, alice: Person, admin: Person) -> None:
    """Until they are closed."""
    await jobs.submit(ctx, alice, Wish(command=("true",)))
    with refused(Code.USER_HAS_JOBS):
        await users.remove(ctx, admin, "alice")


async def test_accounts_come_in_pages_by_name(ctx: Context, alice: Person, bob: Person, admin: Person) -> None:
    """Parts of names narrow the list, and are taken literally."""
    rows, total = await users.page(ctx, "", 2, 2)
    assert ([row.name for row in rows], total) == (["root"], 3)
    assert [row.name for row in (await users.page(ctx, "li", 1, 9))[0]] == ["alice"]
    assert (await users.page(ctx, "_", 1, 9))[1] == 0
    assert (await users.show(ctx, str(bob.id))).name == "bob"
