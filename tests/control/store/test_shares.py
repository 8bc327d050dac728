"""Share codes give grants, cancelling takes them; hop codes work once, for one browser."""

from __future__ import annotations

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.entries import EntrySpec
from control.domain.errors import Code, ProblemError
from control.store import entries, feed, people, shares
from control.store.engine import Database
from control.store.people import NewSession
from control.store.shares import NewShare
from control.store.tables import Entry, User
from gateway.contract.routes import Level, Protocol
from tests.control.store.conftest import DOORS, AddJob, AddUser


class Scene:
    """An entry of alice's, and bob, who may be given it."""

    def __init__(self, entry: Entry, alice: User, bob: User) -> None:
        self.entry = entry
        self.alice = alice
        self.bob = bob


@pytest.fixture
async def scene(db: Database, add_user: AddUser, add_job: AddJob) -> Scene:
    """The scene, written."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        job = await add_job(session, alice)
        spec = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 80)
        return Scene(await entries.add_entry(session, job, spec, DOORS, 1.0), alice, bob)


def code(
    name: str = "h", *, chosen: bool = False, expires_at: float | None = None, uses: int | None = None
) -> NewShare:
    """A share code with this HMAC."""
    return NewShare(name, "sealed", chosen, expires_at, uses)


async def test_redeemed_code_gives_a_grant_and_cancelling_takes_it(db: Database, scene: Scene) -> None:
    """On the gateways as well."""
    async with db.write() as session:
        share = await shares.set_share(session, scene.entry, code(), 1.0)
        grant = await shares.redeem(session, share, scene.bob, 2.0)
        assert await feed.revision_of(session, "grant", grant.id) is not None
        assert await shares.grant_for(session, scene.entry.id, scene.bob.id, 3.0) is grant
        assert [user.name for _, user in await shares.grants(session, scene.entry.id)] == ["bob"]
        assert [entry.id for _, entry, _ in await shares.grants_of(session, scene.bob.id, 3.0)] == [scene.entry.id]
        assert await shares.shared_among(session, [scene.entry.id, 99]) == {scene.entry.id}
        revision = await shares.cancel_share(session, scene.entry, 4.0)
        assert revision == await feed.latest(session)
        assert await shares.grant_for(session, scene.entry.id, scene.bob.id, 5.0) is None
        assert await shares.share_of(session, scene.entry.id) is None


async def test_redeeming_again_uses_nothing_up(db: Database, scene: Scene, add_user: AddUser) -> None:
    """One use a person; after the last use the next person is refused."""
    async with db.write() as session:
        carol = await add_user(session, "carol")
        share = await shares.set_share(session, scene.entry, code(uses=1), 1.0)
        first = await shares.redeem(session, share, scene.bob, 2.0)
        assert await shares.redeem(session, share, scene.bob, 3.0) is first
        assert share.uses == 1
        with pytest.raises(ProblemError) as caught:
            await shares.redeem(session, share, carol, 4.0)
        assert caught.value.problem.code is Code.SHARE_USED_UP


async def test_expired_code_and_its_grants_are_over(db: Database, scene: Scene) -> None:
    """The grant ends with the code."""
    async with db.write() as session:
        share = await shares.set_share(session, scene.entry, code(expires_at=10.0), 1.0)
        await shares.redeem(session, share, scene.bob, 9.0)
        assert await shares.grant_for(session, scene.entry.id, scene.bob.id, 9.5) is not None
        assert await shares.grant_for(session, scene.entry.id, scene.bob.id, 10.0) is None
        assert await shares.grants_of(session, scene.bob.id, 10.0) == []
        with pytest.raises(ProblemError) as caught:
            await shares.redeem(session, share, scene.bob, 10.0)
        assert caught.value.problem.code is Code.SHARE_EXPIRED


async def test_chosen_code_is_found_only_with_its_entry(db: Database, scene: Scene) -> None:
    """Two owners may choose the same word; a generated code stands alone."""
    async with db.write() as session:
        await shares.set_share(session, scene.entry, code(chosen=True), 1.0)
        assert await shares.share_by_code(session, "h", None) is None
        assert await shares.share_by_code(session, "h", scene.entry.id) is not None
        await shares.set_share(session, scene.entry, code("g"), 1.0)
        assert await shares.share_by_code(session, "g", None) is not None
        assert await shares.share_by_code(session, "h", scene.entry.id) is None


async def test_one_grant_is_withdrawn(db: Database, scene: Scene) -> None:
    """The share stays."""
    async with db.write() as session:
        share = await shares.set_share(session, scene.entry, code(), 1.0)
        grant = await shares.redeem(session, share, scene.bob, 2.0)
        assert await shares.drop_grant(session, grant, 3.0) > 0
        assert await shares.share_of(session, scene.entry.id) is share


@pytest.mark.parametrize(
    ("entry_offset", "challenge", "now"),
    [(1, "browser", 59.0), (0, "another", 59.0), (0, "browser", 60.0)],
)
async def test_hop_code_shown_wrongly_is_used_up(
    db: Database, scene: Scene, entry_offset: int, challenge: str, now: float
) -> None:
    """For another entry, by another browser, too late: no, and no second try."""
    entry_id = scene.entry.id
    async with db.write() as session:
        await _hop(session, scene)
        wrong = await shares.take_hop(
            session, code_hash=shares.hop_hash("c"), entry_id=entry_id + entry_offset, challenge=challenge, now=now
        )
        assert wrong is None
        again = await shares.take_hop(
            session, code_hash=shares.hop_hash("c"), entry_id=entry_id, challenge="browser", now=1.0
        )
        assert again is None


async def test_hop_code_works_once(db: Database, scene: Scene) -> None:
    """It names the person and the sign-in."""
    async with db.write() as session:
        await _hop(session, scene)
        for expected in ((scene.alice.id, "s1"), None):
            found = await shares.take_hop(
                session, code_hash=shares.hop_hash("c"), entry_id=scene.entry.id, challenge="browser", now=59.0
            )
            assert found == expected


async def test_hop_code_ends_with_its_sign_in(db: Database, scene: Scene) -> None:
    """Who signs out takes the codes along."""
    async with db.write() as session:
        await _hop(session, scene)
        await people.end_session(session, "s1", 2.0)
        found = await shares.take_hop(
            session, code_hash=shares.hop_hash("c"), entry_id=scene.entry.id, challenge="browser", now=3.0
        )
        assert found is None


async def _hop(session: AsyncSession, scene: Scene) -> None:
    await people.add_session(session, scene.alice, NewSession("s1", "t", "c", "p", "::1", 100.0), 1.0)
    await shares.add_hop(
        session,
        code_hash=shares.hop_hash("c"),
        entry_id=scene.entry.id,
        session_id="s1",
        user_id=scene.alice.id,
        challenge="browser",
        expires_at=60.0,
    )
