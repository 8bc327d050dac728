"""People, sign-ins, tokens and keys; and that withdrawing one takes it off the gateways."""

from __future__ import annotations

import pytest

from control.domain.errors import Code, ProblemError
from control.domain.people import Role
from control.store import feed, people
from control.store.engine import Database
from control.store.people import NewSession
from gateway.contract.people import Scope
from tests.control.store.conftest import AddUser


def sign_in(name: str, expires_at: float = 100.0) -> NewSession:
    """A sign-in whose hashes are made from its name."""
    return NewSession(name, f"t-{name}", f"c-{name}", f"p-{name}", "127.0.0.1", expires_at)


async def test_name_is_given_once_even_after_removal(db: Database, add_user: AddUser) -> None:
    """Homes and uids belong to it."""
    async with db.write() as session:
        await add_user(session, "root", Role.ADMIN)
        alice = await add_user(session)
        await people.remove_user(session, alice, 2.0)
        assert await people.user_by_name(session, "alice") is None
        assert await people.user(session, alice.id) is None
        assert await people.names_of(session, [alice.id]) == {alice.id: "alice"}
        with pytest.raises(ProblemError) as caught:
            await add_user(session)
        assert caught.value.problem.code is Code.USER_EXISTS


async def test_the_last_admin_stays(db: Database, add_user: AddUser) -> None:
    """Neither disabled nor removed; with a second one, either."""
    async with db.write() as session:
        first = await add_user(session, "root", Role.ADMIN)
        for attempt in (people.set_disabled(session, first, True, 2.0), people.remove_user(session, first, 2.0)):
            with pytest.raises(ProblemError) as caught:
                await attempt
            assert caught.value.problem.code is Code.LAST_ADMIN
        await add_user(session, "deputy", Role.ADMIN)
        await people.set_disabled(session, first, True, 2.0)
        assert await people.enabled_admins(session) == 1


async def test_disabling_ends_sign_ins_and_tells_gateways(db: Database, add_user: AddUser) -> None:
    """The record says disabled, the session's is gone."""
    async with db.write() as session:
        alice = await add_user(session)
        await people.add_session(session, alice, sign_in("s1"), 1.0)
        revision = await people.set_disabled(session, alice, True, 2.0)
        assert await feed.revision_of(session, "session", "s1") is None
        assert await feed.revision_of(session, "user", alice.id) == revision


async def test_sign_in_is_found_by_each_of_its_secrets_until_it_ends(db: Database, add_user: AddUser) -> None:
    """Token, cookie and id; not after its time."""
    async with db.write() as session:
        alice = await add_user(session)
        await people.add_session(session, alice, sign_in("s1"), 1.0)
        for found in (
            await people.session_by_token_hash(session, "t-s1", 99.0),
            await people.session_by_cookie_hash(session, "c-s1", 99.0),
            await people.session(session, "s1", 99.0),
        ):
            assert found is not None
            assert found.user_id == alice.id
        assert await people.session_by_token_hash(session, "c-s1", 99.0) is None
        assert await people.session_by_token_hash(session, "t-s1", 100.0) is None


async def test_ending_all_sign_ins_but_one(db: Database, add_user: AddUser) -> None:
    """What a change of password does."""
    async with db.write() as session:
        alice = await add_user(session)
        for name in ("s1", "s2", "s3"):
            await people.add_session(session, alice, sign_in(name), 1.0)
        assert await people.end_sessions(session, alice.id, 2.0, but="s2") > 0
        assert await people.session(session, "s2", 3.0) is not None
        assert await people.session(session, "s1", 3.0) is None


async def test_tokens_and_keys_reach_the_gateways_and_leave_them(db: Database, add_user: AddUser) -> None:
    """A token narrowed in time; a key once a person."""
    async with db.write() as session:
        alice = await add_user(session)
        token = await people.add_token(
            session, alice, name="ci", token_hash="h", scope=Scope.API, entry_id=None, expires_at=50.0, now=1.0
        )
        key = await people.add_key(session, alice, name="k", public_key="k", fingerprint="SHA256:x", now=1.0)
        with pytest.raises(ProblemError):
            await people.add_key(session, alice, name="k2", public_key="same", fingerprint="SHA256:x", now=1.0)
        assert await people.token_by_hash(session, "h", 49.0) is token
        assert await people.token_by_hash(session, "h", 50.0) is None
        assert {kind for kind, _ in await feed.keys(session)} == {"user", "token", "key"}
        await people.drop_token(session, token, 2.0)
        await people.drop_key(session, key, 2.0)
        assert {kind for kind, _ in await feed.keys(session)} == {"user"}
        assert not list(await people.tokens(session, alice.id))
        assert not list(await people.keys(session, alice.id))


async def test_removal_takes_everything_off_the_gateways(db: Database, add_user: AddUser) -> None:
    """User, sign-ins, tokens, keys."""
    async with db.write() as session:
        alice = await add_user(session)
        await people.add_session(session, alice, sign_in("s1"), 1.0)
        await people.add_token(
            session, alice, name="ci", token_hash="h", scope=Scope.API, entry_id=None, expires_at=None, now=1.0
        )
        await people.add_key(session, alice, name="k", public_key="x", fingerprint="SHA256:x", now=1.0)
        await people.remove_user(session, alice, 2.0)
        assert await feed.keys(session) == set()


async def test_people_are_listed_by_name(db: Database, add_user: AddUser) -> None:
    """Paged, narrowed by a part of the name, with the number of all; a percent sign means itself."""
    async with db.write() as session:
        for name in ("carol", "alice", "bob"):
            await add_user(session, name)
        rows, total = await people.users_page(session, offset=1, limit=1)
        assert ([row.name for row in rows], total) == (["bob"], 3)
        rows, total = await people.users_page(session, offset=0, limit=9, name_part="o")
        assert ([row.name for row in rows], total) == (["bob", "carol"], 2)
        assert (await people.users_page(session, offset=0, limit=9, name_part="%"))[1] == 0


async def test_identity_is_kept_up_to_date(db: Database, add_user: AddUser) -> None:
    """One a person and cluster."""
    async with db.write() as session:
        alice = await add_user(session)
        await people.set_identity(session, alice, "local", None, "/homes/alice")
        await people.set_identity(session, alice, "local", 70001, "/homes/alice")
        found = await people.identity(session, alice.id, "local")
        assert found is not None
        assert (found.uid, found.unix_name) == (70001, "alice")
        assert await people.identity(session, alice.id, "other") is None


async def test_language_and_password_change(db: Database, add_user: AddUser) -> None:
    """The language reaches the gateways' pages."""
    async with db.write() as session:
        alice = await add_user(session)
        before = await feed.revision_of(session, "user", alice.id)
        await people.set_language(session, alice, "en", 2.0)
        await people.set_password(session, alice, "new")
        assert await feed.revision_of(session, "user", alice.id) != before
