"""What people do with their own account."""

from __future__ import annotations

from control.actions import me, sessions
from control.actions.context import Context, Person
from control.domain.errors import Code
from control.store import feed
from tests.control.actions.refused import refused
from tests.control.api.desk import PASSWORD, Desk


async def test_the_language_is_kept_and_told_to_gateways(ctx: Context, alice: Person) -> None:
    """Their pages and the ssh menu speak it."""
    async with ctx.db.read() as session:
        before = await feed.revision_of(session, "user", alice.id)
    assert (await me.set_language(ctx, alice, "en")).language == "en"
    assert (await me.show(ctx, alice)).language == "en"
    async with ctx.db.read() as session:
        after = await feed.revision_of(session, "user", alice.id)
    assert before is not None
    assert after is not None
    assert after > before


async def test_the_sign_in_that_changed_the_password_stays(ctx: Context, alice: Person) -> None:
    """The others end."""
    here, there = [await sessions.sign_in(ctx, "alice", PASSWORD, "192.0.2.1", "zh") for _ in range(2)]
    who = await sessions.person_of_token(ctx, here.token, "192.0.2.1")
    await me.change_password(ctx, who, PASSWORD, "battery staple")
    await sessions.person_of_token(ctx, here.token, "192.0.2.1")
    with refused(Code.SIGN_IN):
        await sessions.person_of_token(ctx, there.token, "192.0.2.1")


async def test_a_new_password_answers_once_the_gateways_hold_it(desk: Desk, alice: Person) -> None:
    """A visit by a sign-in that ended with the old password is over when the page says so."""
    here, _ = [await sessions.sign_in(desk.ctx, "alice", PASSWORD, "192.0.2.1", "zh") for _ in range(2)]
    who = await sessions.person_of_token(desk.ctx, here.token, "192.0.2.1")
    await me.change_password(desk.ctx, who, PASSWORD, "battery staple")
    async with desk.db.read() as session:
        assert desk.gateways.asked[-1] == await feed.latest(session)


async def test_a_wrong_current_password_changes_nothing(ctx: Context, alice: Person) -> None:
    """And after ten of them one has to wait."""
    for _ in range(10):
        with refused(Code.INVALID_INPUT):
            await me.change_password(ctx, alice, "wrong horse", "battery staple")
    with refused(Code.TOO_MANY_ATTEMPTS):
        await me.change_password(ctx, alice, PASSWORD, "battery staple")
    with refused(Code.INVALID_INPUT):
        await me.change_password(ctx, alice, PASSWORD, "short")
    await sessions.sign_in(ctx, "alice", PASSWORD, "192.0.2.77", "zh")
