"""The one sign-in check: right, wrong, too often, and never locking the owner out."""

from __future__ import annotations

import asyncio

import pytest
from argon2 import PasswordHasher

from control.domain.errors import Code, Problem
from control.domain.people import ADDRESS_FAILURES, FAILURE_WINDOW_S, PAIR_FAILURES, Role
from control.store import people, signin
from control.store.engine import Database
from control.store.signin import SignIn
from control.store.tables import User

PASSWORD = "correct horse"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture
async def check(db: Database) -> SignIn:
    """A check that knows alice."""
    made = SignIn(db, CHEAP)
    password_hash = await made.hash(PASSWORD)
    async with db.write() as session:
        await people.add_user(session, "alice", password_hash, Role.USER, 0.0)
    return made


async def outcome(
    check: SignIn, password: str, address: str = "10.0.0.1", name: str = "alice", now: float = 1.0
) -> str:
    """The person's name, or the problem's code."""
    found = await check.check(name, password, address, now)
    return found.code.value if isinstance(found, Problem) else found.name


async def test_right_and_wrong(check: SignIn) -> None:
    """An unknown name is told like a wrong password."""
    assert await outcome(check, PASSWORD) == "alice"
    assert await outcome(check, "wrong") == Code.WRONG_PASSWORD
    assert await outcome(check, PASSWORD, name="nobody") == Code.WRONG_PASSWORD
    assert await outcome(check, "x" * 2_000_000) == Code.WRONG_PASSWORD
    assert await outcome(check, "\ud800 lone surrogate") == Code.WRONG_PASSWORD


async def test_five_wrong_ones_never_refuse_a_right_one(check: SignIn) -> None:
    """The contract's promise."""
    for _ in range(5):
        await outcome(check, "wrong")
    assert await outcome(check, PASSWORD) == "alice"


async def test_too_many_wrong_ones_wait_but_a_fresh_address_is_admitted(check: SignIn) -> None:
    """A stranger who guesses cannot lock the owner out; after the window, he may guess again."""
    for _ in range(PAIR_FAILURES):
        assert await outcome(check, "wrong") == Code.WRONG_PASSWORD
    assert await outcome(check, PASSWORD) == Code.TOO_MANY_ATTEMPTS
    assert await outcome(check, PASSWORD, address="10.0.0.2") == "alice"
    assert await outcome(check, PASSWORD, now=1.0 + FAILURE_WINDOW_S) == "alice"


async def test_an_ipv6_network_has_no_more_guesses_than_one_address(check: SignIn) -> None:
    """A stranger cannot guess for ever by taking the next of the addresses that every line is given."""
    for number in range(PAIR_FAILURES):
        assert await outcome(check, "wrong", address=f"2001:db8::{number:x}") == Code.WRONG_PASSWORD
    assert await outcome(check, PASSWORD, address="2001:db8::ffff") == Code.TOO_MANY_ATTEMPTS
    assert await outcome(check, PASSWORD, address="2001:db8:0:1::1") == "alice"


async def test_failures_outlive_a_restart(db: Database, check: SignIn) -> None:
    """They are rows."""
    for _ in range(PAIR_FAILURES):
        await outcome(check, "wrong")
    assert await outcome(SignIn(db, CHEAP), PASSWORD) == Code.TOO_MANY_ATTEMPTS
    async with db.write() as session:
        await signin.clear_failures(session, 2.0)
    assert await outcome(SignIn(db, CHEAP), PASSWORD) == "alice"


async def test_guesses_at_once_are_no_more_guesses(check: SignIn) -> None:
    """They take turns: the eleventh is refused, however many come together."""
    outcomes = await asyncio.gather(*[outcome(check, "wrong") for _ in range(PAIR_FAILURES + 5)])
    assert outcomes.count(Code.TOO_MANY_ATTEMPTS) == 5
    assert check._turns == {}


async def test_many_names_at_once_are_no_way_around_the_address(check: SignIn) -> None:
    """Trying one password on everybody stops near the address's limit, however many attempts come together."""
    names = [f"user{number}" for number in range(ADDRESS_FAILURES + 30)]
    outcomes = await asyncio.gather(*[outcome(check, "wrong", name=name) for name in names])
    assert outcomes.count(Code.TOO_MANY_ATTEMPTS) >= 29


async def test_disabled_is_told_only_to_who_knows_the_password(db: Database, check: SignIn) -> None:
    """Others learn nothing of the account."""
    async with db.write() as session:
        alice = await people.user_by_name(session, "alice")
        assert isinstance(alice, User)
        await people.set_disabled(session, alice, True, 1.0)
    assert await outcome(check, PASSWORD) == Code.USER_DISABLED
    assert await outcome(check, "wrong") == Code.WRONG_PASSWORD


async def test_purposes_do_not_mix(db: Database) -> None:
    """Wrong share codes do not keep anyone from signing in."""
    async with db.write() as session:
        for _ in range(PAIR_FAILURES):
            await signin.add_failure(session, signin.REDEEM, "alice", "a", 1.0)
        assert await signin.wait_s_before(session, signin.REDEEM, "alice", "a", 2.0) > 0
        assert await signin.wait_s_before(session, signin.PASSWORD, "alice", "a", 2.0) == 0
