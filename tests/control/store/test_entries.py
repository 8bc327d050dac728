"""Entries: unique within their job, on ports that nobody else holds, known to the gateways."""

from __future__ import annotations

import pytest

from control.domain.entries import AUTO_PORTS, EntrySpec, ssh_default
from control.domain.errors import Code, ProblemError
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State
from control.store import entries, feed, jobs, people, shares
from control.store.engine import Database
from control.store.shares import NewShare
from gateway.contract.people import Scope
from gateway.contract.routes import Level, PortKind, Protocol, Service
from tests.control.store.conftest import DOORS, AddJob, AddUser

WEB = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 80)
AUTO = EntrySpec("auto", Protocol.HTTP, Level.PRIVATE, None)
LOOSE = EntrySpec("loose", Protocol.TCP, Level.OPEN, 5000, PortKind.RANDOM)


async def test_entry_has_a_label_a_host_and_its_protocols_port(
    db: Database, add_user: AddUser, add_job: AddJob
) -> None:
    """32 hex digits, below the base domain."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        entry = await entries.add_entry(session, job, WEB, DOORS, 1.0)
        assert len(entry.label) == 32
        assert (entry.host, entry.port) == (f"{entry.label}.proxy.localhost", 8888)
        assert await entries.by_label(session, entry.label) is entry
        assert await entries.entry(session, entry.id) is entry
        assert [event.code for event in await jobs.events(session, job.id)][-1] is EventCode.ENTRY_ADDED


async def test_names_and_target_ports_are_unique_within_a_job(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Another job may repeat them."""
    async with db.write() as session:
        alice = await add_user(session)
        job, other = await add_job(session, alice), await add_job(session, alice)
        await entries.add_entry(session, job, WEB, DOORS, 1.0)
        for spec, code in (
            (WEB, Code.ENTRY_NAME_TAKEN),
            (EntrySpec("b", Protocol.SSH, Level.PRIVATE, 80), Code.TARGET_PORT_TAKEN),
        ):
            with pytest.raises(ProblemError) as caught:
                await entries.add_entry(session, job, spec, DOORS, 1.0)
            assert caught.value.problem.code is code
        await entries.add_entry(session, other, WEB, DOORS, 1.0)


async def test_auto_ports_are_unique_among_an_owners_live_jobs(
    db: Database, add_user: AddUser, add_job: AddJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs of one person may share a network; when all are used, it is said."""
    monkeypatch.setattr(entries, "AUTO_PORTS", range(AUTO_PORTS.start, AUTO_PORTS.start + 2))
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        picked = []
        for owner in (alice, alice, bob):
            entry = await entries.add_entry(session, await add_job(session, owner), AUTO, DOORS, 1.0)
            picked.append(entry.target_port)
        assert picked[0] != picked[1]
        with pytest.raises(ProblemError) as caught:
            await entries.add_entry(session, await add_job(session, alice), AUTO, DOORS, 1.0)
        assert caught.value.problem.code is Code.NO_FREE_PORT


async def test_terminals_have_no_port_and_several_are_fine(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """The gateway itself answers there."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        for name in ("t1", "t2"):
            spec = EntrySpec(name, Protocol.HTTP, Level.PRIVATE, None, service=Service.TERMINAL)
            assert (await entries.add_entry(session, job, spec, DOORS, 1.0)).target_port is None
        assert [each.name for each in await entries.taken(session, job.id)] == ["t1", "t2"]


async def test_random_port_is_held_until_the_entry_goes(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """It has to be reserved beforehand."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        with pytest.raises(ValueError, match="reserved"):
            await entries.add_entry(session, job, LOOSE, DOORS, 1.0)
        entry = await entries.add_entry(session, job, LOOSE, DOORS, 1.0, random_port=40007)
        assert entry.port == 40007
        assert await entries.held_ports(session) == {40007}
        await entries.remove_entry(session, entry, 2.0)
        assert await entries.held_ports(session) == set()


async def test_removal_takes_share_grants_and_tokens_along(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Nothing that rested on the entry stays on the gateways."""
    async with db.write() as session:
        alice, bob = await add_user(session), await add_user(session, "bob")
        job = await add_job(session, alice)
        entry = await entries.add_entry(session, job, WEB, DOORS, 1.0)
        share = await shares.set_share(session, entry, NewShare("h", "s", False, None, None), 1.0)
        await shares.redeem(session, share, bob, 1.0)
        await people.add_token(
            session,
            alice,
            name="c",
            token_hash="h",
            scope=Scope.ENTRY_CONNECT,
            entry_id=entry.id,
            expires_at=None,
            now=1.0,
        )
        revision = await entries.remove_entry(session, entry, 2.0)
        assert revision == await feed.latest(session)
        assert {kind for kind, _ in await feed.keys(session)} == {"user", "job"}
        assert await entries.of_job(session, job.id) == []


async def test_level_changes_reach_the_gateways(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """With a new revision; the entry is ready again once they have it."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        entry = await entries.add_entry(session, job, WEB, DOORS, 1.0)
        entry.ready_at = 1.5
        before = await feed.revision_of(session, "entry", entry.id)
        assert await entries.set_level(session, entry, Level.OPEN, 2.0) > (before or 0)
        assert entry.ready_at is None


async def test_ended_job_takes_no_entries(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """Neither new ones nor changes."""
    async with db.write() as session:
        job = await add_job(session, await add_user(session))
        entry = await entries.add_entry(session, job, ssh_default(), DOORS, 1.0)
        await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 2.0)
        for attempt in (
            entries.add_entry(session, job, WEB, DOORS, 3.0),
            entries.set_level(session, entry, Level.OPEN, 3.0),
        ):
            with pytest.raises(ProblemError) as caught:
                await attempt
            assert caught.value.problem.code is Code.JOB_ENDED


async def test_entries_of_several_jobs_at_once(db: Database, add_user: AddUser, add_job: AddJob) -> None:
    """One query for a whole list; jobs without entries are there too."""
    async with db.write() as session:
        alice = await add_user(session)
        job, bare = await add_job(session, alice), await add_job(session, alice)
        entry = await entries.add_entry(session, job, WEB, DOORS, 1.0)
        assert await entries.of_jobs(session, [job.id, bare.id]) == {job.id: [entry], bare.id: []}
