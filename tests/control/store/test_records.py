"""Rows as records: what a gateway needs, and what it must not be told."""

from __future__ import annotations

import dataclasses

from control.domain.entries import EntrySpec
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State
from control.store import entries, jobs, people, records
from control.store.engine import Database
from control.store.people import NewSession
from gateway.contract.routes import JobPhase, Level, Protocol
from tests.control.store.conftest import DOORS, AddJob, AddUser


async def test_job_record_tells_when_it_started(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """`since` is empty before the start."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        assert records.job(job, "alice").since == ""
        await jobs.transition(session, job, State.RUNNING, NewEvent(EventCode.STARTED), 0.5)
        record = records.job(job, "alice")
        assert (record.since, record.phase, record.engine) == ("1970-01-01T00:00:00.500Z", JobPhase.RUNNING, "local")


async def test_entry_record_names_its_target(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """The job, the port, the owner."""
    async with db.write() as session:
        alice = await add_user(session)
        job = await add_job(session, alice)
        spec = EntrySpec("web", Protocol.HTTP, Level.LOGIN, 80)
        record = records.entry(await entries.add_entry(session, job, spec, DOORS, 1.0), job)
        assert (record.target.engine, record.target.subject, record.target.port) == ("local", job.id, 80)
        assert (record.owner_id, record.level) == (alice.id, Level.LOGIN)


async def test_session_record_holds_neither_cookie_nor_page_secret(db: Database, add_user: AddUser) -> None:
    """Gateways see bearer tokens only."""
    async with db.write() as session:
        alice = await add_user(session)
        row = await people.add_session(session, alice, NewSession("s", "t", "cookie", "page", "::1", 9.0), 1.0)
        assert not {"cookie", "page"} & set(map(str, dataclasses.astuple(records.session(row))))
