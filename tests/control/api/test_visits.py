"""Live connections over the API: for the owner and administrators, and a cut that is audited."""

from __future__ import annotations

import asyncio

import pytest

from control.domain.people import Role
from control.store import audit
from gateway.contract.visits import LiveVisit, VisitsReport
from tests.control.api.desk import Caller, Desk

WEB = {"name": "web", "protocol": "http", "level": "open", "target_port": 8000}


@pytest.fixture
async def entry(desk: Desk) -> int:
    """Alice's entry, with bob and a stranger connected."""
    alice = await desk.person("alice")
    await desk.person("bob")
    job = await desk.running_job(alice, entries=[WEB])
    found: int = job["entries"][0]["id"]
    desk.visits.registered("web-0", "i1")
    visits = (
        LiveVisit("web-0-ab-1", found, 2, "bob", "192.0.2.7", "http", desk.clock(), 10, 20),
        LiveVisit("web-0-ab-2", found, None, "", "192.0.2.8", "http", desk.clock() + 1, 0, 0),
    )
    desk.visits.report("web-0", VisitsReport(everything=True, opened=visits))
    return found


async def test_the_owner_sees_who_is_connected(desk: Desk, entry: int) -> None:
    """Who, from where, since when, how much, through which gateway; a stranger has no name."""
    alice = await desk.sign_in("alice")
    listed = await alice.get(f"/entries/{entry}/visits")
    assert (listed.status, listed.body["total"]) == (200, 2)
    assert listed.body["items"][0] == {
        "id": "web-0-ab-1",
        "entry_id": entry,
        "user": {"id": 2, "username": "bob"},
        "address": "192.0.2.7",
        "protocol": "http",
        "since": "2027-01-15T08:00:00.000Z",
        "bytes_in": 10,
        "bytes_out": 20,
        "gateway": "web-0",
    }
    assert listed.body["items"][1]["user"] is None


async def test_nobody_else_sees_or_cuts(desk: Desk, entry: int) -> None:
    """Also not a guest, whose own visit it is."""
    bob = await desk.sign_in("bob")
    assert (await bob.get(f"/entries/{entry}/visits")).code == "not_found"
    assert (await bob.delete("/visits/web-0-ab-1")).code == "not_found"
    assert (await desk.anyone.get(f"/entries/{entry}/visits")).status == 401
    assert len(desk.visits) == 2


async def cut(desk: Desk, caller: Caller, visit: str) -> None:
    """Cuts a visit; the gateway does as it is told."""
    async with asyncio.TaskGroup() as group:
        cutting = group.create_task(caller.delete(f"/visits/{visit}"))
        assert await desk.visits.cuts("web-0") == [visit]
        desk.visits.report("web-0", VisitsReport(gone=(visit,)))
        done = await cutting
    assert (done.status, done.body) == (200, {"pending": [], "stops_by": None})


async def test_owner_and_administrator_cut_and_it_is_audited(desk: Desk, entry: int) -> None:
    """Who cut whom stands in the audit."""
    await cut(desk, await desk.sign_in("alice"), "web-0-ab-1")
    root = await desk.person("root", Role.ADMIN)
    assert (await root.get(f"/entries/{entry}/visits")).body["total"] == 1
    await cut(desk, root, "web-0-ab-2")
    assert (await root.delete("/visits/web-0-ab-2")).code == "not_found"
    async with desk.db.read() as session:
        rows = await audit.recent(session, subject=f"entry:{entry}")
    assert [(row.action, row.user_name, row.detail["visit"]) for row in rows] == [
        ("visit.cut", "root", "web-0-ab-2"),
        ("visit.cut", "alice", "web-0-ab-1"),
    ]


async def test_a_gateway_that_does_not_answer_is_named(desk: Desk, entry: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call ends after a moment all the same."""
    monkeypatch.setattr("control.actions.visits.SETTLE_S", 0.01)
    alice = await desk.sign_in("alice")
    done = await alice.delete("/visits/web-0-ab-1")
    assert (done.status, done.body["pending"]) == (200, ["web-0"])


async def test_people_see_their_own_connections_and_administrators_everybodys(desk: Desk, entry: int) -> None:
    """Homes included, which their person and administrators cut; a guest sees their visit and cuts it not."""
    bob = await desk.sign_in("bob")
    home = LiveVisit("ssh-0-1", -2, 2, "bob", "192.0.2.7", "sftp", desk.clock() + 5, 0, 0)
    desk.visits.registered("ssh-0", "i1")
    desk.visits.report("ssh-0", VisitsReport(opened=(home,)))
    mine = await bob.get("/visits")
    assert [each["id"] for each in mine.body["items"]] == ["web-0-ab-1", "ssh-0-1"]
    assert (await bob.get("/visits?user=alice")).code == "admin_only"
    assert (await (await desk.sign_in("alice")).get("/visits")).body["total"] == 0
    root = await desk.person("root", Role.ADMIN)
    assert (await root.get("/visits?user=bob")).body["total"] == 2
    assert (await root.get("/visits?user=*")).body["total"] == 3
    assert (await root.get("/visits?user=nobody")).code == "not_found"
    alice = await desk.sign_in("alice")
    assert (await alice.delete("/visits/ssh-0-1")).code == "not_found"
    async with asyncio.TaskGroup() as group:
        cutting = group.create_task(bob.delete("/visits/ssh-0-1"))
        assert await desk.visits.cuts("ssh-0") == ["ssh-0-1"]
        desk.visits.report("ssh-0", VisitsReport(gone=("ssh-0-1",)))
    assert (await cutting).status == 200
