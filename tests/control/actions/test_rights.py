"""Who may do what: every rule against owner, stranger, guest and administrator."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from control.actions import jobs, rights, shares
from control.actions.context import Context, Person
from control.actions.submission import Wish
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from control.store.tables import Entry
from gateway.contract.routes import Level, Protocol
from tests.control.actions.refused import refused

Rule = Callable[..., Awaitable[Any]]


@pytest.fixture
async def entry(ctx: Context, alice: Person) -> Entry:
    """A private entry of a job of alice's."""
    spec = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",), entries=(spec,)))
    return seen.entries[0].entry


@pytest.mark.parametrize(
    ("rule", "stranger", "administrator"),
    [
        (rights.visible_job, Code.NOT_FOUND, None),
        (rights.own_job, Code.NOT_FOUND, Code.FORBIDDEN),
        (rights.own_entry, Code.NOT_FOUND, Code.FORBIDDEN),
        (rights.removable_entry, Code.NOT_FOUND, None),
    ],
)
async def test_the_owner_may_and_others_as_the_rule_says(
    ctx: Context, alice: Person, bob: Person, admin: Person, entry: Entry, rule: Rule,
    stranger: Code, administrator: Code | None,
) -> None:  # fmt: skip
    """What a stranger may not see is not there; what an administrator may not do is forbidden."""
    name = entry.job_id if rule in (rights.visible_job, rights.own_job) else str(entry.id)
    async with ctx.db.read() as session:
        await rule(session, alice, name)
        with refused(stranger):
            await rule(session, bob, name)
        if administrator is None:
            await rule(session, admin, name)
        else:
            with refused(administrator):
                await rule(session, admin, name)


@pytest.mark.parametrize(
    ("level", "admits_stranger"), [(Level.PRIVATE, False), (Level.LOGIN, True), (Level.OPEN, True)]
)
async def test_passing_follows_the_level(
    ctx: Context, alice: Person, bob: Person, admin: Person, entry: Entry, level: Level, admits_stranger: bool
) -> None:
    """By the same rules as the gateway's; an administrator is a stranger here."""
    async with ctx.db.write() as session:
        (await session.get_one(Entry, entry.id)).level = level
    async with ctx.db.read() as session:
        await rights.passable_entry(session, alice, entry.label, ctx.now())
        for other in (bob, admin):
            if admits_stranger:
                await rights.passable_entry(session, other, entry.label, ctx.now())
            else:
                with refused(Code.ENTRY_FORBIDDEN):
                    await rights.passable_entry(session, other, entry.label, ctx.now())


async def test_a_guest_passes_until_the_grant_ends(ctx: Context, alice: Person, bob: Person, entry: Entry) -> None:
    """And not a moment longer."""
    until = ctx.now() + 60
    made = await shares.share(ctx, alice, str(entry.id), shares.Wish(expires_at=until))
    await shares.redeem(ctx, bob, made.code, None)
    async with ctx.db.read() as session:
        await rights.passable_entry(session, bob, str(entry.id), until - 1)
        with refused(Code.ENTRY_FORBIDDEN):
            await rights.passable_entry(session, bob, str(entry.id), until)


@pytest.mark.parametrize("reference", ["", "0", "-1", "1e3", "９", "abc", "f" * 31, "F" * 32, "9" * 19, "1; DROP"])
async def test_what_names_no_entry_finds_none(ctx: Context, alice: Person, entry: Entry, reference: str) -> None:
    """Neither a fault nor somebody else's entry."""
    async with ctx.db.read() as session:
        assert await rights.entry_named(session, reference) is None


async def test_accounts_are_found_by_name_before_number(ctx: Context, alice: Person) -> None:
    """Names begin with a letter, so that the two never mix."""
    async with ctx.db.read() as session:
        assert (await rights.account_named(session, "alice")).id == alice.id
        assert (await rights.account_named(session, str(alice.id))).name == "alice"
        with refused(Code.NOT_FOUND):
            await rights.account_named(session, "nobody")


def test_a_person_is_an_administrator_by_role_alone(alice: Person, admin: Person) -> None:
    """Not by name."""
    assert admin.is_admin
    assert not dataclasses.replace(alice, name="admin").is_admin
