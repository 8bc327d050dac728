"""What gateways are fed, and how their questions are answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from argon2 import PasswordHasher

from control.domain.entries import ssh_default
from control.domain.jobs.spec import JobSpec
from control.domain.people import Role
from control.store import audit, entries, feed, jobs, people, secrets, shares
from control.store.engine import Database
from control.store.people import NewSession
from control.store.secrets import Vault
from control.store.signin import SignIn
from control.store.tables import Job
from control.work import feed as work_feed
from control.work.feed import Feed
from control.work.gateways import Gateways
from control.work.metrics import Metrics
from control.work.visits import Visits
from gateway.contract.feed import Question
from gateway.contract.people import User
from gateway.contract.routes import Certificate, Secret
from gateway.contract.slices import read_slice, slice_line
from tests.control.work.conftest import DOORS, Clock

VAULT = Vault(b"k" * 32)


@pytest.fixture
async def source(db: Database) -> Feed:
    """A feed with alice, whose password is `password`, in it."""
    sign_in = SignIn(db, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    password_hash = await sign_in.hash("password")
    async with db.write() as session:
        await people.add_user(session, "alice", password_hash, Role.USER, 0.0)
    visits, metrics = Visits(db.hints), Metrics("token", int)
    return Feed(db, VAULT, Gateways(db.hints), sign_in, visits, metrics, epoch="e", now=Clock().now)


async def test_slices_hold_everything_with_private_fields_open(
    db: Database, source: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealed in the table, open on the feed; one revision for the whole list."""
    monkeypatch.setattr(work_feed, "SLICE_RECORDS", 2)
    async with db.write() as session:
        await secrets.add_secret(session, VAULT, "ticket", "the ticket key", 1.0)
        await secrets.put_certificate(
            session,
            VAULT,
            "base",
            names=["a"],
            chain_pem="c",
            key_pem="key",
            not_after=9.0,
            is_default=True,
            now=1.0,
        )
        latest = await feed.latest(session)
    found = [(records, revision, last) async for records, revision, last in source.slices()]
    assert [(len(records), revision, last) for records, revision, last in found] == [
        (2, latest, False),
        (1, latest, True),
    ]
    lines = [slice_line(part, revision, last=last) for part, revision, last in found]
    records = [record for line in lines for record in read_slice(line).records]
    assert [record.key_pem for record in records if isinstance(record, Certificate)] == ["key"]
    assert [record.value for record in records if isinstance(record, Secret)] == ["the ticket key"]


async def test_changes_tell_puts_and_drops(db: Database, source: Feed) -> None:
    """And None for who is too far behind, or ahead."""
    async with db.write() as session:
        start = await feed.latest(session)
        alice = await people.user_by_name(session, "alice")
        assert alice is not None
        await people.add_session(session, alice, NewSession("s", "t", "c", "p", "::1", 9.0), 1.0)
        await people.end_session(session, "s", 2.0)
        await people.set_disabled(session, alice, True, 3.0)
    changes = await source.changes_after(start, 10)
    assert changes is not None
    assert [(change.kind, change.record is None) for change in changes] == [("session", True), ("user", False)]
    assert isinstance(changes[1].record, User)
    assert await source.changes_after(start + 99, 10) is None


async def test_waiting_ends_with_the_next_change(db: Database, source: Feed) -> None:
    """At once for who is behind."""
    async with db.read() as session:
        latest = await feed.latest(session)
    await source.wait_for(latest - 1)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        waiting = group.create_task(source.wait_for(latest))
        await asyncio.sleep(0)
        assert not waiting.done()
        async with db.write() as session:
            await feed.put(session, User(9, "u", "user", False), 1.0)


async def test_password_is_answered_and_audited(db: Database, source: Feed) -> None:
    """Right, wrong, and too often; from where is kept."""

    async def ask(password: str) -> dict[str, Any]:
        return await source.answer(Question.PASSWORD, {"user": "alice", "password": password, "address": "10.0.0.1"})

    assert await ask("password") == {"ok": True, "user_id": 1}
    for _ in range(10):
        assert await ask("wrong") == {"ok": False, "code": "wrong_password"}
    refused = await ask("password")
    assert refused["code"] == "too_many_attempts"
    assert refused["retry_after_s"] > 0
    async with db.read() as session:
        rows = await audit.recent(session, subject="user:alice")
    assert [rows[0].outcome, rows[-1].outcome, rows[0].address] == ["too_many_attempts", "done", "10.0.0.1"]


async def test_hop_code_is_exchanged_once(db: Database, source: Feed) -> None:
    """For the entry and the browser that it was made for."""
    async with db.write() as session:
        alice = await people.user_by_name(session, "alice")
        assert alice is not None
        job = await jobs.add_job(session, alice, JobSpec("web", None, "local", "local", ("true",), "/h"), 1.0)
        entry = await entries.add_entry(session, await session.get_one(Job, job.id), ssh_default(), DOORS, 1.0)
        await people.add_session(session, alice, NewSession("s", "t", "c", "p", "::1", 1e9), 1.0)
        await shares.add_hop(
            session,
            code_hash=shares.hop_hash("code"),
            entry_id=entry.id,
            session_id="s",
            user_id=alice.id,
            challenge="browser",
            expires_at=1e9,
        )
    asked = {"entry_id": entry.id, "code": "code", "challenge": "browser"}
    assert await source.answer(Question.EXCHANGE, asked) == {
        "ok": True,
        "user_id": 1,
        "session_id": "s",
        "grounds": [],
    }
    assert await source.answer(Question.EXCHANGE, asked) == {"ok": False, "code": "hop_invalid"}


@pytest.mark.parametrize(
    ("question", "arguments"),
    [
        (Question.PASSWORD, {}),
        (Question.PASSWORD, {"user": 1, "password": "x", "address": "a"}),
        (Question.EXCHANGE, {"entry_id": "x", "code": "c", "challenge": "c"}),
        (Question.EXCHANGE, {"entry_id": 1, "code": None, "challenge": "c"}),
    ],
)
async def test_wrongly_asked_is_answered_no(source: Feed, question: Question, arguments: dict[str, Any]) -> None:
    """A gateway of another version does not end the feed."""
    assert await source.answer(question, arguments) == {"ok": False, "code": "malformed"}
