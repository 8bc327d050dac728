"""Named tokens."""

from __future__ import annotations

import pytest

from control.actions import jobs, sessions, tokens
from control.actions.context import Context, Person
from control.actions.submission import Wish as JobWish
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from gateway.contract.people import Scope
from gateway.contract.routes import Level, Protocol
from tests.control.actions.refused import refused


async def test_a_token_for_an_entry_is_made_by_who_may_pass_it(ctx: Context, alice: Person, bob: Person) -> None:
    """For seven days unless said otherwise."""
    spec = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)
    seen, _ = await jobs.submit(ctx, alice, JobWish(command=("true",), entries=(spec,)))
    entry = seen.entries[0].entry
    made = await tokens.make_for_entry(ctx, alice, entry.label, None, None)
    assert (made.row.scope, made.row.entry_id) == (Scope.ENTRY_CONNECT, entry.id)
    assert made.row.expires_at == ctx.now() + 7 * 24 * 3600
    assert made.secret not in repr(made)
    with refused(Code.ENTRY_FORBIDDEN):
        await tokens.make_for_entry(ctx, bob, entry.label, None, None)


@pytest.mark.parametrize(
    "wish",
    [
        tokens.Wish("", Scope.API, None, None),
        tokens.Wish("x", Scope.API, "1", None),
        tokens.Wish("x", Scope.API, None, 1.0),
    ],
)
async def test_a_token_that_makes_no_sense_is_refused(ctx: Context, alice: Person, wish: tokens.Wish) -> None:
    """No name, an entry for the whole API, an end in the past."""
    with refused(Code.INVALID_INPUT):
        await tokens.make(ctx, alice, wish)


async def test_a_withdrawn_token_is_nobody(ctx: Context, alice: Person, bob: Person) -> None:
    """Only its person withdraws it."""
    made = await tokens.make(ctx, alice, tokens.Wish("script", Scope.API, None, None))
    assert (await sessions.person_of_token(ctx, made.secret, "192.0.2.1")).id == alice.id
    with refused(Code.NOT_FOUND):
        await tokens.withdraw(ctx, bob, made.row.id)
    await tokens.withdraw(ctx, alice, made.row.id)
    with refused(Code.SIGN_IN):
        await sessions.person_of_token(ctx, made.secret, "192.0.2.1")
