"""Orders in the store: whose they are, when they are due, and what is kept of them, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from certs.acme import received
from control.domain.acme import DAY_S, Method
from control.domain.domains import Proof
from control.domain.entries import EntrySpec
from control.store import acme, domains, entries, feed
from control.store.acme_tables import AcmeOrder
from control.store.domains import Claim
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.tables import Entry, Job
from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.contract.routes import Level, Protocol
from tests.certs.authority import Authority
from tests.control.store.conftest import DOORS, AddJob, AddUser

VAULT = Vault(b"k" * 32)
NOW = 1_800_000_000.0
NAME = "lab.example.org"
CA = Authority(datetime.fromtimestamp(NOW, UTC))


@pytest.fixture
async def asked(db: Database, add_user: AddUser, add_job: AddJob) -> tuple[int, int]:
    """An entry that waits for its certificate; its id, and its owner's."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        spec = EntrySpec("w", Protocol.HTTPS, Level.OPEN, 80)
        entry = await entries.add_entry(session, job, spec, DOORS, NOW)
        row = await domains.claim(session, VAULT, entry, job, Claim(NAME, None, None, Method.HTTP), NOW)
        await acme.ask(session, VAULT, row, NOW)
        await entries.publish(session, entry, job, NOW)
        return entry.id, job.owner_id


async def test_an_order_is_due_while_an_entry_wants_it(db: Database, asked: tuple[int, int]) -> None:
    """And let go with it: what gave nothing is forgotten after a while."""
    entry_id, owner = asked
    async with db.write() as session:
        assert [row.domain for row in await acme.due(session, NOW, 10)] == [NAME]
        assert await acme.due(session, NOW - 1, 10) == []
        assert await feed.revision_of(session, "entry", entry_id) is None
        await acme.opened(session, await session.get_one(AcmeOrder, (owner, NAME)), "https://acme.test/1", NOW)
        assert await acme.is_idle(session)
        await entries.remove_entry(session, await session.get_one(Entry, entry_id), NOW)
        assert await acme.due(session, NOW, 10) == []
        assert not await acme.is_idle(session)
        await acme.let_go(session, NOW)
        assert await acme.is_idle(session)
        assert (await session.get_one(AcmeOrder, (owner, NAME))).tries == [NOW]
        await acme.let_go(session, NOW + 8 * DAY_S)
        session.expire_all()
        assert await acme.order(session, owner, NAME) is None


async def test_what_gateways_answer_follows_the_order(db: Database, asked: tuple[int, int]) -> None:
    """Shown while it is open; not for a way that gateways have no part in."""
    _, owner = asked
    async with db.write() as session:
        row = await session.get_one(AcmeOrder, (owner, NAME))
        row.token, row.authorization = "token", "token.thumb"
        await acme.show(session, row, NOW)
        assert await acme.open_challenges(session) == [Challenge(NAME, ChallengeKind.HTTP, "token", "token.thumb")]
        assert await feed.revision_of(session, "challenge", NAME) is not None
        await acme.reset(session, row, NOW)
        assert (await acme.open_challenges(session), await feed.revision_of(session, "challenge", NAME)) == ([], None)
        row.method, row.token, row.authorization = Method.DNS, "token", "token.thumb"
        await acme.show(session, row, NOW)
        assert await feed.revision_of(session, "challenge", NAME) is None


async def test_a_pair_that_was_given_serves_its_entry_and_the_next_one(db: Database, asked: tuple[int, int]) -> None:
    """Sealed in both places; until it has to be renewed."""
    entry_id, owner = asked
    async with db.read() as session:
        job_id = (await session.get_one(Entry, entry_id)).job_id
    leaf = CA.leaf(NAME, days=90)
    pair = received(leaf.pem + CA.intermediate.pem, leaf.key_pem(), NAME, now=CA.now)
    async with db.write() as session:
        row = await session.get_one(AcmeOrder, (owner, NAME))
        await acme.given(session, VAULT, row, pair, NOW)
        held = await acme.holder(session, owner, NAME)
        assert held is not None
        assert (held.serves, held.proof, await acme.orders(session, [held])) == (True, "acme", {entry_id: row})
        assert "PRIVATE" not in f"{held.key_sealed} {row.pair_key_sealed}"
        assert await feed.revision_of(session, "certificate", f"entry-{entry_id}") is not None
        await entries.remove_entry(session, await session.get_one(Entry, entry_id), NOW)
        job = await session.get_one(Job, job_id)
        again = await entries.add_entry(session, job, EntrySpec("w", Protocol.HTTPS, Level.OPEN, 80), DOORS, NOW)
        next_one = await domains.claim(session, VAULT, again, job, Claim(NAME, None, None, Method.HTTP), NOW)
        await acme.ask(session, VAULT, next_one, NOW)
        assert next_one.serves
        row.renew_at = NOW
        await acme.ask(session, VAULT, next_one, NOW)
        assert row.due_at == NOW


async def test_an_end_is_warned_of_when_the_next_certificate_is_late(db: Database, asked: tuple[int, int]) -> None:
    """Not while it renews itself: before it is due, and for a day after; a refusal makes it a matter for its owner."""
    _, owner = asked
    leaf = CA.leaf(NAME, days=5)
    pair = received(leaf.pem + CA.intermediate.pem, leaf.key_pem(), NAME, now=CA.now)
    async with db.write() as session:
        assert await domains.ending(session, NOW + 30 * DAY_S, NOW) == []  # no certificate yet
        row = await session.get_one(AcmeOrder, (owner, NAME))
        await acme.given(session, VAULT, row, pair, NOW)
        assert row.renew_at is not None
        assert await domains.ending(session, NOW + 30 * DAY_S, NOW) == []
        assert len(await domains.ending(session, NOW + 30 * DAY_S, row.renew_at + 1.5 * DAY_S)) == 1
        row.failures = 1
        await session.flush()
        assert len(await domains.ending(session, NOW + 30 * DAY_S, NOW)) == 1


async def test_one_account_for_one_authority(db: Database) -> None:
    """Its key can be opened here alone."""
    async with db.write() as session:
        assert await acme.account(session, "https://acme.test/dir") is None
        row = await acme.add_account(session, VAULT, "https://acme.test/dir", "key", NOW)
        assert (acme.account_key(VAULT, row), row.url) == ("key", None)
        assert "key" not in row.key_sealed


async def test_who_else_proved_a_domain_is_remembered(db: Database, asked: tuple[int, int]) -> None:
    """Also when their entry is gone and the name still leads here; an unproved wish counts for nothing."""
    entry_id, owner = asked
    async with db.write() as session:
        assert not await domains.proved_by_another(session, owner + 1, NAME)
        held = await domains.of_entry(session, entry_id)
        assert held is not None
        entry = await session.get_one(Entry, entry_id)
        await domains.prove(session, held, entry, await session.get_one(Job, entry.job_id), Proof.DNS, NOW)
        await entries.remove_entry(session, entry, NOW)
        assert await domains.of_entry(session, entry_id) is None
        assert await domains.proved_by_another(session, owner + 1, NAME)
        assert not await domains.proved_by_another(session, owner, NAME)
        assert await acme.new_domains(session, owner, NOW - 1) == 1


async def test_a_name_below_somebody_elses_domain_is_not_given_for_leading_here(
    db: Database, add_user: AddUser, add_job: AddJob
) -> None:
    """A wildcard record leads there, too; the nearest name that was proved says whose it is."""
    async with db.write() as session:
        owners = {}
        for name, user in (("example.org", "alice"), (NAME, "bob")):
            job = await add_job(session, await add_user(session, user))
            spec = EntrySpec("w", Protocol.HTTPS, Level.OPEN, 80)
            entry = await entries.add_entry(session, job, spec, DOORS, NOW)
            claim = Claim(name, None, Proof.ADMIN, Method.HTTP)
            await domains.claim(session, VAULT, entry, job, claim, NOW)
            owners[user] = job.owner_id
        alice, bob = owners["alice"], owners["bob"]
        seen = {name: await domains.proved_by_another(session, alice, name) for name in ("a.example.org", f"b.{NAME}")}
        assert seen == {"a.example.org": False, f"b.{NAME}": True}
        seen = {name: await domains.proved_by_another(session, bob, name) for name in ("a.example.org", f"b.{NAME}")}
        assert seen == {"a.example.org": True, f"b.{NAME}": False}
        assert not await domains.proved_by_another(session, bob, "example.net")
