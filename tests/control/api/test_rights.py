"""Who may make which call: every route of the table against nobody, a stranger, the owner and an administrator.

A route that is not in RIGHTS fails the test, so that none is ever added without saying who may use it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from control.api.app import ROUTES
from control.api.route import PREFIX, Media, Route
from control.domain.people import Role
from gateway.contract.visits import LiveVisit, VisitsReport
from tests.control.api.desk import PASSWORD, Caller, Desk

CALLERS = ("nobody", "stranger", "owner", "admin")

RIGHTS: dict[str, tuple[int, int, int, int]] = {
    # nobody, stranger, owner, admin
    "sign_in": (201, 201, 201, 201),
    "sign_out": (401, 204, 204, 204),
    "show_me": (401, 200, 200, 200),
    "change_me": (401, 200, 200, 200),
    "change_password": (401, 204, 204, 204),
    "list_keys": (401, 200, 200, 200),
    "add_key": (401, 201, 201, 201),
    "remove_key": (401, 404, 204, 404),
    "list_tokens": (401, 200, 200, 200),
    "add_token": (401, 201, 201, 201),
    "remove_token": (401, 404, 204, 404),
    "list_users": (401, 403, 403, 200),
    "add_user": (401, 403, 403, 201),
    "show_user": (401, 403, 403, 200),
    "change_user": (401, 403, 403, 200),
    "remove_user": (401, 403, 403, 204),
    "list_clusters": (401, 200, 200, 200),
    "list_apps": (401, 200, 200, 200),
    "install_app": (401, 403, 403, 202),
    "submit_job": (401, 201, 201, 201),
    "list_jobs": (401, 200, 200, 200),
    "show_job": (401, 404, 200, 200),
    "close_job": (401, 404, 200, 200),
    "suspend_job": (401, 404, 200, 200),
    "resume_job": (401, 404, 200, 200),
    "show_status": (401, 404, 200, 200),
    "read_log": (401, 404, 200, 200),
    "follow_log": (401, 404, 101, 101),
    "add_entry": (401, 404, 201, 403),
    "show_entry": (401, 403, 200, 403),
    "change_entry": (401, 404, 200, 403),
    "remove_entry": (401, 404, 200, 200),
    "make_entry_token": (401, 403, 201, 403),
    "issue_client_certificate": (401, 403, 201, 403),
    "list_client_certificates": (401, 403, 200, 403),
    "withdraw_client_certificate": (401, 404, 200, 200),
    "check_domain": (401, 200, 200, 200),
    "check_entry_domain": (401, 404, 409, 403),
    "approve_entry_domain": (401, 403, 403, 409),
    "go_on": (401, 404, 409, 403),
    "set_share": (401, 404, 200, 403),
    "show_share": (401, 404, 200, 403),
    "cancel_share": (401, 404, 200, 403),
    "list_grants": (401, 404, 200, 403),
    "remove_grant": (401, 404, 200, 403),
    "list_my_visits": (401, 200, 200, 200),
    "list_visits": (401, 404, 200, 200),
    "cut_visit": (401, 404, 200, 200),
    "redeem_share": (401, 200, 200, 200),
    "list_shared_entries": (401, 200, 200, 200),
    "make_hop": (401, 403, 201, 403),
    "watch_live": (401, 101, 101, 101),
    "show_document": (200, 200, 200, 200),
    "show_platform": (200, 200, 200, 200),
    "show_host_keys": (200, 200, 200, 200),
}


def test_every_route_is_in_the_table() -> None:
    """A new call says who may make it, or this fails."""
    assert {route.name for route in ROUTES} == RIGHTS.keys()


@pytest.mark.parametrize("caller", CALLERS)
async def test_rights(desk: Desk, caller: str) -> None:
    """Each call by one kind of caller, each on a world of its own, so that no call spoils the next."""
    column = CALLERS.index(caller)
    wrong = {}
    for name in ("owner", "stranger", "guest"):
        await desk.add_user(name)
    await desk.add_user("admin", Role.ADMIN)
    for number, route in enumerate(ROUTES):
        world = await make_world(desk, number)
        status = await attempt(desk, route, world, world.callers[caller])
        if status != RIGHTS[route.name][column]:
            wrong[route.name] = (status, RIGHTS[route.name][column])
    assert not wrong, f"(got, expected) as {caller}: {wrong}"


@dataclass
class World:
    """Fresh things of the owner for one call, and everybody who may try."""

    callers: dict[str, Caller]
    parts: dict[str, Any]
    bodies: dict[str, Any]


async def make_world(desk: Desk, number: int) -> World:
    """A running job with a shared private entry, a guest of it, a key and a token of the owner."""
    callers = {name: await desk.sign_in(name) for name in ("owner", "stranger", "guest", "admin")}
    owner = callers["owner"]
    web = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}
    tcp = {"name": "db", "protocol": "tcp", "level": "private", "target_port": 5432}
    job = await desk.running_job(owner, entries=[web, tcp])
    (desk.runtime.logs / f"{job['id']}.log").write_bytes(b"hello\n")
    entry = job["entries"][0]
    code = (await owner.put(f"/entries/{entry['id']}/share", {})).body["code"]
    await callers["guest"].post("/shares/redeem", {"code": code})
    grant = (await owner.get(f"/entries/{entry['id']}/share/grants")).body["items"][0]["id"]
    key = await owner.post("/me/keys", {"public_key": public_key(number)})
    token = await owner.post("/me/tokens", {"name": "t"})
    door = job["entries"][1]["id"]
    client = await owner.post(f"/entries/{door}/client-certificate")
    victim = f"victim{number}"
    await desk.add_user(victim)
    hop = {"entry": entry["label"], "state": "s", "challenge": "c" * 43}
    parts = {"job": job["id"], "entry": entry["id"], "grant": grant, "key": key.body["id"], "token": token.body["id"]}
    visit = LiveVisit(f"web-0-{number}", entry["id"], None, "", "192.0.2.7", "http", desk.clock(), 0, 0)
    desk.visits.report("web-0", VisitsReport(opened=(visit,)))
    return World(
        {"nobody": desk.anyone, **callers},
        parts
        | {"visit": visit.id, "user": victim, "app": "jupyterlab", "certificate": client.body["id"], "door": door},
        {
            "sign_in": {"username": "owner", "password": PASSWORD},
            "change_me": {"language": "en"},
            "change_password": {"current": PASSWORD, "new": PASSWORD},
            "add_key": {"public_key": public_key(1000 + number)},
            "add_token": {"name": "another"},
            "add_user": {"username": f"new{number}", "password": PASSWORD},
            "change_user": {"disabled": True},
            "install_app": (401, 403, 403, 202),
            "submit_job": {"command": ["true"]},
            "add_entry": web | {"name": "two", "target_port": 8001},
            "change_entry": {"level": "login"},
            "check_domain": {"domain": "lab.example.org"},
            "make_entry_token": {},
            "set_share": {},
            "redeem_share": {"code": code},
            "make_hop": hop,
        },
    )


async def attempt(desk: Desk, route: Route, world: World, caller: Caller) -> int:
    """The status that the caller gets."""
    parts = world.parts | ({"entry": world.parts["door"]} if "client-certificate" in route.path else {})
    path = route.path.format_map(parts)
    if route.name == "resume_job":
        await world.callers["owner"].post(f"/jobs/{world.parts['job']}/suspend")
    if route.media is not Media.WEBSOCKET:
        return (await caller.call(route.method, path, world.bodies.get(route.name))).status
    try:
        async with desk.http.ws_connect(f"{desk.base}{PREFIX}{path}", headers=caller.headers) as socket:
            await socket.receive_str()
            return 101
    except aiohttp.WSServerHandshakeError as refusal:
        return refusal.status


def public_key(seed: int) -> str:
    """An OpenSSH key line that differs by `seed`."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + seed.to_bytes(32, "big")
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} key {seed}"
