"""Domains in the store: sealed, handed to gateways when they are proved, and kept over a new start."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from certs.upload import Pair, judge
from control.domain.domains import Proof
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from control.store import derive, domains, entries, feed
from control.store.domain_tables import EntryDomain
from control.store.domains import Claim
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.tables import Entry, Job, Record
from gateway.contract.routes import Level, Protocol
from tests.certs.authority import Authority
from tests.control.actions.refused import refused
from tests.control.store.conftest import DOORS, AddJob, AddUser

VAULT = Vault(b"k" * 32)
NOW = 1_800_000_000.0
CA = Authority(datetime.fromtimestamp(NOW, UTC))
NAME = "lab.example.org"


def pair(*names: str) -> Pair:
    """A good pair for NAME, and perhaps other names."""
    leaf = CA.leaf(NAME, *names)
    chain = leaf.pem + CA.intermediate.pem + CA.root.pem
    return judge(chain, leaf.key_pem(), password=None, name=NAME, now=CA.now, roots=())


@pytest.fixture
async def two(db: Database, add_user: AddUser, add_job: AddJob) -> tuple[int, int]:
    """Two https entries of one job; their ids."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        made = [
            await entries.add_entry(session, job, EntrySpec(name, Protocol.HTTPS, Level.OPEN, port), DOORS, NOW)
            for name, port in (("one", 1), ("two", 2))
        ]
        return made[0].id, made[1].id


async def ask(session: AsyncSession, entry_id: int, proof: Proof | None, *names: str) -> EntryDomain:
    """The entry asks for NAME."""
    entry = await session.get_one(Entry, entry_id)
    job = await session.get_one(Job, entry.job_id)
    row = await domains.claim(session, VAULT, entry, job, Claim(NAME, pair(*names), proof), NOW)
    await entries.publish(session, entry, job, NOW)
    return row


async def test_gateways_get_a_proved_domain_and_nothing_else_of_its_certificate(
    db: Database, two: tuple[int, int]
) -> None:
    """The key lies sealed; a certificate that holds other people's names too answers for its own domain only."""
    async with db.write() as session:
        row = await ask(session, two[0], Proof.CHAIN, "neighbour.example.org", "*.proxy.localhost")
        record = await session.get_one(Record, ("certificate", row.certificate_id))
        assert record.payload is not None
        assert record.payload["names"] == [NAME]
        assert "PRIVATE" not in str(record.payload)
        assert "PRIVATE" in VAULT.open(f"certificate:{row.certificate_id}", row.key_sealed)
        entry = await session.get_one(Record, ("entry", str(two[0])))
        assert entry.payload is not None
        assert entry.payload["host"] == NAME


async def test_an_unproved_domain_takes_the_entry_off_the_gateways(db: Database, two: tuple[int, int]) -> None:
    """Also after a new start, which derives everything anew; its neighbour stays."""
    async with db.write() as session:
        await ask(session, two[0], None)
    await derive.derive_all(db, DOORS, NOW)
    async with db.read() as session:
        assert await feed.revisions_of(session, "entry", [str(one) for one in two]) == {
            str(two[1]): await feed.revision_of(session, "entry", two[1])
        }
        assert await feed.revision_of(session, "certificate", f"entry-{two[0]}") is None
        assert (await session.get_one(Entry, two[0])).host == NAME


async def test_a_proved_domain_outlives_a_new_start(db: Database, two: tuple[int, int]) -> None:
    """Records keep their revision: nothing changed."""
    async with db.write() as session:
        await ask(session, two[0], Proof.DNS)
        before = await feed.latest(session)
    await derive.derive_all(db, DOORS, NOW)
    async with db.read() as session:
        assert await feed.revision_of(session, "certificate", f"entry-{two[0]}") is not None
        assert await feed.latest(session) == before


async def test_one_entry_at_a_time_has_a_domain(db: Database, two: tuple[int, int]) -> None:
    """Who waits without proof makes room for who has one; nobody else does."""
    async with db.write() as session:
        await ask(session, two[0], None)
    with refused(Code.DOMAIN_TAKEN):
        async with db.write() as session:
            await ask(session, two[1], None)
    async with db.write() as session:
        await ask(session, two[1], Proof.DNS)
        assert (await session.get_one(EntryDomain, two[0])).held is None
    with refused(Code.DOMAIN_TAKEN):
        async with db.write() as session:
            await ask(session, two[0], Proof.CHAIN)
    async with db.write() as session:
        await domains.drop_of_entry(session, two[1], NOW)
        await domains.drop_of_entry(session, two[1], NOW)
    async with db.write() as session:
        await ask(session, two[0], None)
        assert set(await domains.of_entries(session, two)) == {two[0]}


def test_a_persons_token_is_theirs_and_the_domains() -> None:
    """The same each time; another person's or another domain's is another."""
    one = domains.token(VAULT, 1, NAME)
    assert one == domains.token(VAULT, 1, NAME)
    assert len({one, domains.token(VAULT, 2, NAME), domains.token(VAULT, 1, "a.test")}) == 3
