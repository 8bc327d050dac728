"""Signing in and out, and what each kind of credential is good for."""

from __future__ import annotations

import re

from control.store import audit
from tests.control.api.desk import PASSWORD, Caller, Desk


async def test_signing_in_gives_a_token_a_cookie_and_the_pages_secret(both_desks: Desk) -> None:
    """The contract's shape; the cookie is not the token, and is out of scripts' reach."""
    await both_desks.add_user("alice")
    made = await both_desks.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    assert made.status == 201
    assert set(made.body) == {"token", "csrf", "user", "expires_at"}
    assert made.body["user"]["username"] == "alice"
    assert made.body["user"]["role"] == "user"
    assert re.fullmatch(r"sl_[\w-]{43}", made.body["token"])
    cookie = made.raw.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert made.body["token"] not in cookie
    assert made.body["csrf"] not in cookie


async def test_a_wrong_password_and_an_unknown_user_are_told_alike(desk: Desk) -> None:
    """Nobody learns which names exist."""
    await desk.add_user("alice")
    wrong = await desk.anyone.post("/sessions", {"username": "alice", "password": "wrong horse"})
    unknown = await desk.anyone.post("/sessions", {"username": "nobody", "password": "wrong horse"})
    assert wrong.status == unknown.status == 401
    assert wrong.body == unknown.body
    assert "WWW-Authenticate" not in wrong.raw.headers or "Basic" not in wrong.raw.headers["WWW-Authenticate"]


async def test_guessing_is_slowed_down_without_locking_the_owner_out(desk: Desk) -> None:
    """Five wrong ones never refuse a right one; ten make this address wait, and the wait ends."""
    await desk.add_user("alice")
    wrong = {"username": "alice", "password": "wrong horse"}
    right = {"username": "alice", "password": PASSWORD}
    for _ in range(5):
        assert (await desk.anyone.post("/sessions", wrong)).status == 401
    assert (await desk.anyone.post("/sessions", right)).status == 201
    for _ in range(5):
        await desk.anyone.post("/sessions", wrong)
    waiting = await desk.anyone.post("/sessions", right)
    assert (waiting.status, waiting.code) == (429, "too_many_attempts")
    wait_s = waiting.body["retry_after_s"]
    assert waiting.raw.headers["Retry-After"] == str(wait_s)
    desk.clock.at += wait_s + 1
    assert (await desk.anyone.post("/sessions", right)).status == 201


async def test_a_disabled_account_cannot_sign_in_and_its_sign_ins_end(desk: Desk, alice: Caller, admin: Caller) -> None:
    """Who is disabled is out at once; only the right password learns why."""
    assert (await admin.patch("/users/alice", {"disabled": True})).status == 200
    assert (await alice.get("/me")).code == "sign_in_required"
    refused = await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    assert (refused.status, refused.code) == (403, "user_disabled")


async def test_signing_out_ends_the_sign_in_and_its_cookie(alice: Caller) -> None:
    """The token is worth nothing afterwards."""
    out = await alice.delete("/sessions/current")
    assert out.status == 204
    assert "Max-Age=0" in out.raw.headers["Set-Cookie"]
    assert (await alice.get("/me")).code == "sign_in_required"


async def test_a_sign_in_ends_by_itself(desk: Desk, alice: Caller) -> None:
    """After its term the token opens nothing."""
    desk.clock.at += 15 * 24 * 3600
    assert (await alice.get("/me")).code == "sign_in_required"


async def test_sign_ins_leave_audit_rows_refused_ones_too(desk: Desk) -> None:
    """Who tried, from where, and how it came out."""
    await desk.add_user("alice")
    await desk.anyone.post("/sessions", {"username": "alice", "password": "wrong horse"})
    await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    async with desk.db.read() as session:
        rows = await audit.recent(session)
    assert [(row.user_name, row.action, row.outcome) for row in rows] == [
        ("alice", "session.start", "done"),
        ("alice", "session.start", "wrong_password"),
    ]
    assert all(row.address == "127.0.0.1" for row in rows)
