"""Client certificates: handed to gateways while they stand, gone with their entry, their person, or their time."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from certs.client_ca import IssuedClient, issue_client, make_client_authority
from control.clock import utcnow
from control.domain.entries import EntrySpec
from control.store import clients, entries, feed, people
from control.store.client_tables import ClientAuthority, ClientCertificate
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.tables import Entry, Record, User
from gateway.contract.routes import Level, Protocol
from tests.control.store.conftest import DOORS, AddJob, AddUser

VAULT = Vault(b"k" * 32)
NOW = utcnow()


def issued() -> IssuedClient:
    """A fresh certificate."""
    return issue_client(make_client_authority(now=NOW), user="alice", entry="0" * 32, now=NOW)


@pytest.fixture
async def scene(db: Database, add_user: AddUser, add_job: AddJob) -> tuple[User, Entry]:
    """Alice and her tcp entry."""
    async with db.write() as session:
        alice = await add_user(session)
        job = await add_job(session, alice)
        spec = EntrySpec("db", Protocol.TCP, Level.PRIVATE, 5432)
        return alice, await entries.add_entry(session, job, spec, DOORS, 1.0)


async def test_a_certificate_reaches_the_gateways_and_leaves_them(db: Database, scene: tuple[User, Entry]) -> None:
    """The record names person, entry and fingerprint; withdrawn, it is gone at a higher revision."""
    alice, entry = scene
    made = issued()
    async with db.write() as session:
        row = await clients.add(session, alice, entry, made, 2.0)
        record = await session.get_one(Record, ("client", str(row.id)))
        assert record.payload == {
            "id": row.id,
            "user_id": alice.id,
            "entry_id": entry.id,
            "fingerprint": made.fingerprint,
            "expires_at": made.not_after.timestamp(),
        }
        assert [(held.id, user.name) for held, user in await clients.of_entry(session, entry.id)] == [(row.id, "alice")]
        assert await clients.client(session, row.id) is row
        assert await clients.drop(session, row, 3.0) == await feed.latest(session)
        assert await feed.revision_of(session, "client", row.id) is None


async def test_the_newest_authority_signs_and_all_are_known(db: Database) -> None:
    """Gateways get the certificates; the keys lie sealed and go nowhere."""
    first, second = make_client_authority(now=NOW), make_client_authority(now=NOW)
    async with db.write() as session:
        assert await clients.authority(session, VAULT) is None
        await clients.add_authority(session, VAULT, first, 1.0)
        await clients.add_authority(session, VAULT, second, 2.0)
        assert await clients.authority(session, VAULT) == second
        rows = (await session.scalars(select(ClientAuthority))).all()
        assert [row.id for row in rows] == ["clients-1", "clients-2"]
        assert not any("PRIVATE" in row.key_sealed for row in rows)
        records = (await session.scalars(select(Record).where(Record.kind == "authority"))).all()
        assert [record.payload for record in records] == [
            {"id": "clients-1", "certificate_pem": first.certificate_pem},
            {"id": "clients-2", "certificate_pem": second.certificate_pem},
        ]


@pytest.mark.parametrize("goes", ["entry", "person", "time"])
async def test_a_certificate_goes_with_what_it_names(db: Database, scene: tuple[User, Entry], goes: str) -> None:
    """With the entry, with the person, or when its time is over."""
    alice, entry = scene
    async with db.write() as session:
        row = await clients.add(session, alice, entry, issued(), 2.0)
        if goes == "entry":
            await entries.remove_entry(session, entry, 3.0)
        elif goes == "person":
            await people.remove_user(session, alice, 3.0)
        else:
            await clients.drop_expired(session, row.expires_at)
        assert await feed.revision_of(session, "client", row.id) is None
        assert (await session.scalars(select(ClientCertificate))).all() == []
