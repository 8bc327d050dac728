"""Closed choices are stored as their words and come back as choices."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import StatementError

from control.domain.people import Role
from control.store import people
from control.store.engine import Database
from control.store.tables import User
from tests.control.store.conftest import AddUser


async def test_word_is_stored_and_comes_back_as_a_choice(db: Database, add_user: AddUser) -> None:
    """The table holds `admin`, the code sees Role.ADMIN."""
    async with db.write() as session:
        await add_user(session, "root-of-all", Role.ADMIN)
        assert (await session.execute(text("SELECT role FROM user_account"))).scalar_one() == "admin"
    async with db.read() as session:
        user = await people.user_by_name(session, "root-of-all")
        assert user is not None
        assert user.role is Role.ADMIN


async def test_word_outside_the_choice_is_refused(db: Database) -> None:
    """Before it reaches the table."""
    async with db.read() as session:
        session.add(User(name="x", password_hash="", role="king", language="zh", created_at=0.0))
        with pytest.raises(StatementError):
            await session.flush()


async def test_ids_of_people_are_never_given_twice(db: Database, add_user: AddUser) -> None:
    """A uid is made from it."""
    async with db.write() as session:
        first = await add_user(session, "a")
        await session.delete(first)
        await session.flush()
        assert (await add_user(session, "b")).id > first.id
