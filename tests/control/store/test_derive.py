"""Deriving everything anew: right records keep their revision, stale ones are mended, orphans go."""

from __future__ import annotations

import dataclasses

from certs.client_ca import issue_client, make_client_authority
from control.clock import utcnow
from control.domain.entries import EntrySpec, ssh_default
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State
from control.store import clients, entries, feed, jobs, people, secrets, shares
from control.store.derive import derive_all
from control.store.engine import Database
from control.store.people import NewSession
from control.store.secrets import Vault
from control.store.shares import NewShare
from control.store.tables import Record
from gateway.contract.people import Grant, Scope
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.store.conftest import DOORS, AddJob, AddUser

VAULT = Vault(b"k" * 32)


async def fill(db: Database, add_user: AddUser, add_job: AddJob) -> tuple[int, str]:
    """One row of each kind; the id of the ssh entry and of the job."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        await people.add_session(session, alice, NewSession("s", "t", "c", "p", "::1", 9.0), 1.0)
        await people.add_token(
            session, alice, name="c", token_hash="h", scope=Scope.API, entry_id=None, expires_at=None, now=1.0
        )
        await people.add_key(session, alice, name="k", public_key="x", fingerprint="SHA256:x", now=1.0)
        job = await add_job(session, alice)
        entry = await entries.add_entry(session, job, ssh_default(), DOORS, 1.0)
        loose = EntrySpec("raw", Protocol.TCP, Level.OPEN, 5000, PortKind.RANDOM)
        await entries.add_entry(session, job, loose, DOORS, 1.0, random_port=40001)
        share = await shares.set_share(session, entry, NewShare("h", "s", False, None, None), 1.0)
        await shares.redeem(session, share, bob, 1.0)
        await secrets.add_secret(session, VAULT, "ticket", "x", 1.0)
        authority = make_client_authority(now=utcnow())
        await clients.add_authority(session, VAULT, authority, 1.0)
        issued = issue_client(authority, user="bob", entry=entry.label, now=utcnow())
        await clients.add(session, bob, entry, issued, 1.0)
        await secrets.put_certificate(
            session, VAULT, "base", names=["a"], chain_pem="c", key_pem="k", not_after=9.0, is_default=True, now=1.0
        )
        return entry.id, job.id


async def test_what_is_right_keeps_its_revision(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """A start without changes wakes no gateway; every kind of record is derived as it was written."""
    await fill(db, add_user, add_job)
    async with db.read() as session:
        before, known = await feed.latest(session), await feed.keys(session)
    await derive_all(db, DOORS, 2.0)
    async with db.read() as session:
        assert await feed.latest(session) == before
        assert await feed.keys(session) == known
    assert {kind for kind, _ in known} == {
        *("user", "key", "session", "token", "client", "grant", "job"),
        *("entry", "certificate", "authority", "secret"),
    }


async def test_entries_follow_changed_settings(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Another base domain, another ssh port; a random port stays."""
    entry_id, job_id = await fill(db, add_user, add_job)
    moved = dataclasses.replace(DOORS, base_domain="gate.example", fixed=dict(DOORS.fixed) | {Protocol.SSH: 2222})
    await derive_all(db, moved, 2.0)
    async with db.read() as session:
        record = await session.get_one(Record, ("entry", str(entry_id)))
        assert record.payload is not None
        assert record.payload["port"] == 2222
        assert record.payload["host"].endswith(".gate.example")
        assert [entry.port for entry in await entries.of_job(session, job_id)] == [2222, 40001]


async def test_orphaned_records_go(db: Database) -> None:
    """A record whose row is gone, by whatever accident, opens no door."""
    async with db.write() as session:
        await feed.put(session, Grant(7, 1, 1, None), 1.0)
    await derive_all(db, DOORS, 2.0)
    async with db.read() as session:
        assert await feed.keys(session) == set()


async def test_ended_jobs_keep_fixed_entries_only_and_forgotten_ones_none(
    db: Database, add_user: AddUser, add_job: AddJob
) -> None:
    """As at their end: the random port may serve someone else."""
    entry_id, job_id = await fill(db, add_user, add_job)
    async with db.write() as session:
        job = await jobs.job(session, job_id)
        assert job is not None
        await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 2.0)
    await derive_all(db, DOORS, 3.0)
    async with db.write() as session:
        assert [key for kind, key in await feed.keys(session) if kind == "entry"] == [str(entry_id)]
        await jobs.forget_ended(session, 9.0, 9.0)
    await derive_all(db, DOORS, 10.0)
    async with db.read() as session:
        assert not {kind for kind, _ in await feed.keys(session)} & {"job", "entry"}
