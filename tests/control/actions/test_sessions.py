"""Sign-ins and who stands behind a secret."""

from __future__ import annotations

import pytest

from control.actions import sessions, tokens, users
from control.actions.context import Context, Person
from control.domain.errors import Code
from control.domain.people import Role
from control.store import audit, feed
from gateway.contract.people import Scope
from tests.control.actions.refused import refused
from tests.control.api.desk import PASSWORD, Desk


async def test_a_sign_ins_three_secrets_each_do_their_own_part(ctx: Context, alice: Person) -> None:
    """The token alone; the cookie only together with the page's secret; never one for another."""
    made = await sessions.sign_in(ctx, "alice", PASSWORD, "192.0.2.1", "zh")
    by_token = await sessions.person_of_token(ctx, made.token, "192.0.2.9")
    by_cookie = await sessions.person_of_cookie(ctx, ["tossed", made.cookie], made.csrf, "192.0.2.9")
    assert by_token == by_cookie
    assert (by_token.id, by_token.address) == (alice.id, "192.0.2.9")
    for wrong in (made.cookie, made.csrf, "", "\ud800"):
        with refused(Code.SIGN_IN):
            await sessions.person_of_token(ctx, wrong, "192.0.2.9")
    for cookies, csrf in (([made.token], made.csrf), ([made.cookie], made.token), ([], made.csrf)):
        with refused(Code.SIGN_IN):
            await sessions.person_of_cookie(ctx, cookies, csrf, "192.0.2.9")
    assert made.token not in repr(made)


async def test_what_stays_open_asks_whether_it_still_may(ctx: Context, alice: Person, admin: Person) -> None:
    """After a sign-out, a disabling, and the end of the sign-in's term."""
    made = await sessions.sign_in(ctx, "alice", PASSWORD, "192.0.2.1", "zh")
    who = await sessions.person_of_token(ctx, made.token, "192.0.2.1")
    assert await sessions.still_there(ctx, who)
    await sessions.sign_out(ctx, who)
    assert not await sessions.still_there(ctx, who)
    assert await sessions.still_there(ctx, alice)
    await users.change(ctx, admin, "alice", users.Change(disabled=True))
    assert not await sessions.still_there(ctx, alice)


async def test_a_sign_out_answers_once_the_gateways_hold_it(desk: Desk, alice: Person) -> None:
    """Who was told that they are signed out finds no entry still open by that sign-in."""
    made = await sessions.sign_in(desk.ctx, "alice", PASSWORD, "192.0.2.1", "zh")
    who = await sessions.person_of_token(desk.ctx, made.token, "192.0.2.1")
    await sessions.sign_out(desk.ctx, who)
    async with desk.db.read() as session:
        assert desk.gateways.asked[-1] == await feed.latest(session)


async def test_a_token_for_an_entry_is_nobody_here(ctx: Context, alice: Person) -> None:
    """It passes entries, and that is all."""
    made = await tokens.make(ctx, alice, tokens.Wish("t", Scope.ENTRY_CONNECT, None, None))
    with refused(Code.SCOPE):
        await sessions.person_of_token(ctx, made.secret, "192.0.2.1")


async def test_who_came_by_an_api_token_has_no_sign_in_to_end(ctx: Context, alice: Person) -> None:
    """The token is withdrawn instead."""
    with refused(Code.NOT_FOUND):
        await sessions.sign_out(ctx, alice)


@pytest.mark.parametrize(("name", "password"), [("alice", "wrong horse"), ("nobody", PASSWORD), ("alice", "x" * 5000)])
async def test_a_refused_sign_in_is_in_the_audit(ctx: Context, alice: Person, name: str, password: str) -> None:
    """With the name that was tried."""
    with refused(Code.WRONG_PASSWORD):
        await sessions.sign_in(ctx, name, password, "192.0.2.1", "zh")
    async with ctx.db.read() as session:
        [row] = await audit.recent(session)
    assert (row.user_name, row.outcome, row.address) == (name, "wrong_password", "192.0.2.1")


async def test_the_first_sign_in_tells_the_language(ctx: Context, admin: Person) -> None:
    """Who comes by an English page is spoken to in English from then on, by whatever door the next one leads in."""
    await users.add(ctx, admin, "erin", PASSWORD, Role.USER)
    first = await sessions.sign_in(ctx, "erin", PASSWORD, "192.0.2.1", "en")
    again = await sessions.sign_in(ctx, "erin", PASSWORD, "192.0.2.1", "zh")
    assert (first.user.language, again.user.language) == ("en", "en")
    assert (await sessions.person_of_token(ctx, again.token, "192.0.2.1")).language == "en"
