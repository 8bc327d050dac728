"""GET /live: what changes, told over a real WebSocket, from a revision on."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from control.api import live
from control.domain.jobs.states import State
from tests.control.api.desk import PASSWORD, Caller, Desk

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


def socket(desk: Desk, caller: Caller, query: str = "") -> Any:
    """A page's live socket, by bearer token."""
    return desk.http.ws_connect(f"{desk.base}/api/v1/live{query}", headers=caller.headers)


async def heard(ws: aiohttp.ClientWebSocketResponse, *, what: str = "jobs") -> dict[str, Any]:
    """The next message that holds `what`."""
    while True:
        message: dict[str, Any] = await ws.receive_json(timeout=5)
        if what in message:
            return message


async def test_a_change_of_an_own_job_comes_whole(desk: Desk, alice: Caller) -> None:
    """Submitted, running, an entry more: each arrives with the job's entries, in the reader's language."""
    async with socket(desk, alice, "?language=zh") as ws:
        hello = await heard(ws, what="hello")
        assert hello["hello"]["reset"] is True
        made = await alice.post("/jobs", {"command": ["sleep", "9"]})
        first = await heard(ws)
        assert [job["id"] for job in first["jobs"]] == [made.body["id"]]
        assert first["jobs"][0]["state"] == "queued"
        await desk.move(made.body["id"], State.CREATING)
        assert (await heard(ws))["jobs"][0]["message"] == f"成功将 {made.body['id']} 分配到 …"
        await desk.move(made.body["id"], State.RUNNING)
        assert (await heard(ws))["jobs"][0]["state"] == "running"
        await alice.post(f"/jobs/{made.body['id']}/entries", WEB)
        assert [entry["name"] for entry in (await heard(ws))["jobs"][0]["entries"]] == ["ssh-default", "web"]


async def test_nobody_hears_of_another_persons_jobs(desk: Desk, alice: Caller, bob: Caller) -> None:
    """Bob's socket stays silent while alice works, and tells of his own job afterwards."""
    async with socket(desk, bob) as ws:
        await heard(ws, what="hello")
        await desk.running_job(alice)
        own = await bob.post("/jobs", {"command": ["true"]})
        assert [job["id"] for job in (await heard(ws))["jobs"]] == [own.body["id"]]


async def test_a_page_that_comes_back_hears_what_it_missed(desk: Desk, alice: Caller) -> None:
    """From the last revision it saw: neither a gap nor a reset."""
    kept = await desk.running_job(alice)
    async with socket(desk, alice) as ws:
        revision = (await heard(ws, what="hello"))["hello"]["revision"]
    missed = await desk.running_job(alice)
    async with socket(desk, alice, f"?from={revision}") as ws:
        assert (await heard(ws, what="hello"))["hello"] == {"revision": revision, "reset": False}
        told = await heard(ws)
        assert [job["id"] for job in told["jobs"]] == [missed["id"]]
        assert kept["id"] != missed["id"]
        assert told["revision"] == missed["revision"]


async def test_a_revision_from_another_life_means_a_reset(desk: Desk, alice: Caller) -> None:
    """The page holds a revision that was never given out here: it fetches again what it shows."""
    async with socket(desk, alice, "?from=999999") as ws:
        assert (await heard(ws, what="hello"))["hello"]["reset"] is True


async def test_a_guest_is_told_that_something_was_shared_or_withdrawn(desk: Desk, alice: Caller, bob: Caller) -> None:
    """The list of shared entries is fetched again when it changes."""
    job = await desk.running_job(alice, entries=[WEB])
    entry = job["entries"][0]["id"]
    code = (await alice.put(f"/entries/{entry}/share", {})).body["code"]
    async with socket(desk, bob) as ws:
        await heard(ws, what="hello")
        await bob.post("/shares/redeem", {"code": code})
        assert (await heard(ws))["shared"] is True
        await alice.delete(f"/entries/{entry}/share")
        assert (await heard(ws))["shared"] is True


async def test_the_socket_closes_when_the_sign_in_ends(desk: Desk, alice: Caller) -> None:
    """A page that is signed out elsewhere goes to the sign-in page."""
    async with socket(desk, alice) as ws:
        await heard(ws, what="hello")
        await alice.delete("/sessions/current")
        message = await ws.receive(timeout=5)
        assert (message.type, ws.close_code) == (aiohttp.WSMsgType.CLOSE, 4401)


async def test_a_quiet_socket_ticks(desk: Desk, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page can tell quiet from broken."""
    monkeypatch.setattr(live, "TICK_S", 0.05)
    async with socket(desk, alice) as ws:
        await heard(ws, what="hello")
        assert (await heard(ws, what="tick"))["tick"] == "2027-01-15T08:00:00.000Z"


async def test_a_restart_of_control_says_come_back(desk: Desk, alice: Caller) -> None:
    """1012, so that the page reconnects by revision instead of showing an error."""
    async with socket(desk, alice) as ws:
        await heard(ws, what="hello")
        async with asyncio.TaskGroup() as group:
            group.create_task(desk.server.close())
            message = await ws.receive(timeout=5)
            await ws.close()
        assert (message.type, ws.close_code) == (aiohttp.WSMsgType.CLOSE, 1012)


async def test_a_pages_socket_needs_its_secret_and_its_origin(desk: Desk) -> None:
    """WebSockets know no CORS: by cookie, the page proves both what it knows and where it is from."""
    await desk.add_user("alice")
    made = await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    cookie = {"Cookie": made.raw.headers["Set-Cookie"].partition(";")[0]}
    secret = ["starlight", f"csrf.{made.body['csrf']}"]
    url = f"{desk.base}/api/v1/live"
    async with desk.http.ws_connect(url, headers=cookie | {"Origin": desk.base}, protocols=secret) as ws:
        assert ws.protocol == "starlight"
        await heard(ws, what="hello")
    for headers, protocols, status in (
        (cookie | {"Origin": desk.base}, ["starlight"], 403),
        (cookie | {"Origin": desk.base}, ["starlight", "csrf.wrong"], 401),
        (cookie | {"Origin": "http://evil.example"}, secret, 403),
        (cookie, secret, 403),
        ({"Origin": desk.base}, secret, 401),
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await desk.http.ws_connect(url, headers=headers, protocols=protocols)
        assert refusal.value.status == status


async def test_a_plain_get_is_told_what_to_do(alice: Caller) -> None:
    """Whoever opens the address without upgrading gets a problem, not a stack."""
    refused = await alice.get("/live")
    assert (refused.status, refused.code) == (400, "malformed")
