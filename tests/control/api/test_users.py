"""Accounts over the API, as administrators keep them."""

from __future__ import annotations

import pytest

from control.domain.people import Role
from tests.control.api.desk import PASSWORD, Caller, Desk


async def test_an_account_is_made_listed_disabled_and_removed(both_desks: Desk) -> None:
    """The whole life of one, by number and by name."""
    admin = await both_desks.person("root", Role.ADMIN)
    made = await admin.post("/users", {"username": "carol", "password": PASSWORD, "role": "user"})
    assert (made.status, made.body["username"], made.body["role"]) == (201, "carol", "user")
    assert [user["username"] for user in (await admin.get("/users")).body["items"]] == ["carol", "root"]
    assert (await admin.get("/users?q=car")).body["total"] == 1
    assert (await admin.get("/users?q=%25")).body["total"] == 0
    assert (await admin.get(f"/users/{made.body['id']}")).body == (await admin.get("/users/carol")).body
    assert (await admin.patch("/users/carol", {"disabled": True})).body["disabled"] is True
    assert (await admin.patch("/users/carol", {"disabled": False})).body["disabled"] is False
    assert (await admin.delete("/users/carol")).status == 204
    assert (await admin.get("/users/carol")).code == "not_found"
    again = await admin.post("/users", {"username": "carol", "password": PASSWORD})
    assert (again.status, again.code) == (409, "user_exists")


@pytest.mark.parametrize(
    ("wish", "fields"),
    [
        ({"username": "Carol", "password": PASSWORD}, {"username"}),
        ({"username": "../etc", "password": PASSWORD}, {"username"}),
        ({"username": "carol", "password": "short"}, {"password"}),
        ({"username": "x" * 33, "password": "y" * 1025}, {"username", "password"}),
        ({"username": "carol", "password": PASSWORD, "role": "god"}, {"role"}),
        ({"username": "carol"}, {"password"}),
        ({"username": 7, "password": PASSWORD}, {"username"}),
    ],
)
async def test_a_faulty_account_is_refused_at_its_fields(
    admin: Caller, wish: dict[str, object], fields: set[str]
) -> None:
    """All faults of one look told together."""
    refused = await admin.post("/users", wish)
    assert (refused.status, set(refused.body["fields"])) == (422, fields)


async def test_a_reset_password_ends_the_persons_sign_ins(desk: Desk, alice: Caller, admin: Caller) -> None:
    """Whoever was in with the old one is out, on every gateway."""
    assert (await admin.patch("/users/alice", {"password": "battery staple"})).status == 200
    assert (await alice.get("/me")).status == 401
    assert desk.gateways.asked[-1] > 0
    fresh = await desk.anyone.post("/sessions", {"username": "alice", "password": "battery staple"})
    assert fresh.status == 201


async def test_the_last_administrator_stays(admin: Caller) -> None:
    """Nobody locks everyone out."""
    assert (await admin.patch("/users/root", {"disabled": True})).code == "last_admin"
    assert (await admin.delete("/users/root")).code == "last_admin"


async def test_an_account_with_live_jobs_is_not_removed(desk: Desk, alice: Caller, admin: Caller) -> None:
    """Its jobs are closed first, by somebody who looks at them."""
    await desk.running_job(alice)
    refused = await admin.delete("/users/alice")
    assert (refused.status, refused.code) == (409, "user_has_jobs")
    assert "1" in refused.body["detail"]
