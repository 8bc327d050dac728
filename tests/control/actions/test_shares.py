"""Share codes, as actions see them."""

from __future__ import annotations

import asyncio
import re

import pytest

from control.actions import jobs, shares
from control.actions.context import Context, Person
from control.actions.submission import Wish as JobWish
from control.domain.entries import EntrySpec
from control.domain.errors import Code, ProblemError
from gateway.contract.routes import Level, Protocol
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk

WEB = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)


@pytest.fixture
async def entry(ctx: Context, alice: Person) -> str:
    """The id of a private entry of alice's."""
    seen, _ = await jobs.submit(ctx, alice, JobWish(command=("true",), entries=(WEB,)))
    return str(seen.entries[0].entry.id)


async def test_generated_codes_can_be_read_out_and_typed_in(ctx: Context, alice: Person, entry: str) -> None:
    """Groups of four, no two characters that look alike, and what is typed may have any case."""
    made = await shares.share(ctx, alice, entry, shares.Wish())
    assert re.fullmatch(r"([2-9a-hjkmnp-z]{4}-){4}[2-9a-hjkmnp-z]{4}", made.code)
    assert shares.normal(f"  {made.code.upper()}\n") == made.code
    assert made.code not in repr(made)


async def test_a_new_code_replaces_the_old_and_guests_stay(
    ctx: Context, alice: Person, bob: Person, entry: str
) -> None:
    """Only cancelling sends people away."""
    old = await shares.share(ctx, alice, entry, shares.Wish())
    await shares.redeem(ctx, bob, old.code, None)
    new = await shares.share(ctx, alice, entry, shares.Wish())
    assert old.code != new.code
    with refused(Code.SHARE_CODE_WRONG):
        await shares.redeem(ctx, bob, old.code, None)
    assert [held.seen.entry.id for held in await shares.shared_with(ctx, bob)] == [int(entry)]
    await shares.cancel(ctx, alice, entry)
    assert await shares.shared_with(ctx, bob) == []


async def test_two_owners_may_choose_the_same_word(ctx: Context, alice: Person, bob: Person, entry: str) -> None:
    """Each opens its own entry only."""
    other, _ = await jobs.submit(ctx, bob, JobWish(command=("true",), entries=(WEB,)))
    theirs = str(other.entries[0].entry.id)
    for owner, reference in ((alice, entry), (bob, theirs)):
        await shares.share(ctx, owner, reference, shares.Wish(code="same word"))
    assert (await shares.redeem(ctx, bob, "Same Word", entry)).entry.id == int(entry)
    assert (await shares.redeem(ctx, alice, "same word", theirs)).entry.id == int(theirs)


async def test_wrong_codes_are_counted_for_who_tries_and_from_where(
    desk: Desk, ctx: Context, alice: Person, bob: Person, entry: str
) -> None:
    """A right one in between forgets nothing; others are not held up."""
    made = await shares.share(ctx, alice, entry, shares.Wish())
    for _ in range(10):
        with refused(Code.SHARE_CODE_WRONG):
            await shares.redeem(ctx, bob, "guess guess", None)
    with refused(Code.RATE_LIMITED):
        await shares.redeem(ctx, bob, made.code, None)
    assert (await shares.redeem(ctx, alice, made.code, None)).entry.id == int(entry)
    desk.clock.at += 301
    await shares.redeem(ctx, bob, made.code, None)


async def test_codes_tried_at_once_are_no_more_tries(ctx: Context, bob: Person, entry: str) -> None:
    """A chosen code may be short: the eleventh guess is refused, however many come together."""

    async def guess(number: int) -> Code:
        try:
            await shares.redeem(ctx, bob, f"guess {number}", entry)
        except ProblemError as refusal:
            return refusal.problem.code
        raise AssertionError("the guess was right")

    outcomes = await asyncio.gather(*map(guess, range(30)))
    assert outcomes.count(Code.RATE_LIMITED) == 20


async def test_an_entry_that_is_none_is_a_wrong_code(ctx: Context, bob: Person) -> None:
    """The answer does not tell which of the two was wrong."""
    with refused(Code.SHARE_CODE_WRONG):
        await shares.redeem(ctx, bob, "guess guess", "no such entry")
