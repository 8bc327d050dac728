"""Signing in and out, and what each kind of credential is good for."""

from __future__ import annotations

import re

import pytest

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


@pytest.fixture
async def page(desk: Desk) -> dict[str, str]:
    """What a browser page holds after signing in: cookie and secret, as headers."""
    await desk.add_user("alice")
    made = await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    cookie = made.raw.headers["Set-Cookie"].partition(";")[0]
    return {"Cookie": cookie, "X-CSRF-Token": made.body["csrf"]}


async def test_cookie_and_secret_together_are_a_person(desk: Desk, page: dict[str, str]) -> None:
    """What the console's page sends on every call."""
    shown = await desk.anyone.get("/me", headers=page | {"Origin": desk.base})
    assert (shown.status, shown.body["username"]) == (200, "alice")


async def test_the_cookie_alone_authorises_nothing(desk: Desk, page: dict[str, str]) -> None:
    """A page on another port of this host makes the browser send the cookie, and gets nowhere, not even by GET."""
    cookie = {"Cookie": page["Cookie"]}
    for method, path in (("GET", "/me"), ("POST", "/jobs"), ("DELETE", "/sessions/current")):
        refused = await desk.anyone.call(method, path, {} if method == "POST" else None, headers=cookie)
        assert (refused.status, refused.code) == (403, "csrf_missing"), path
    wrong = await desk.anyone.get("/me", headers=page | {"X-CSRF-Token": "x" * 43})
    assert (wrong.status, wrong.code) == (401, "sign_in_required")


async def test_the_cookie_is_no_bearer_token(desk: Desk, page: dict[str, str]) -> None:
    """An app on another port receives the cookie from browsers: replayed as a token it is nothing."""
    value = page["Cookie"].partition("=")[2]
    assert (await desk.anyone.get("/me", headers={"Authorization": f"Bearer {value}"})).code == "sign_in_required"
    secret = page["X-CSRF-Token"]
    assert (await desk.anyone.get("/me", headers={"Authorization": f"Bearer {secret}"})).code == "sign_in_required"


async def test_another_origin_is_refused_even_with_everything_right(desk: Desk, page: dict[str, str]) -> None:
    """A foreign page that came to know the secret is still foreign."""
    for origin in ("http://evil.example", "null", desk.base + "1"):
        refused = await desk.anyone.get("/me", headers=page | {"Origin": origin})
        assert (refused.status, refused.code) == (403, "cross_origin"), origin


async def test_a_tossed_cookie_does_not_hide_the_real_one(desk: Desk, page: dict[str, str]) -> None:
    """A sibling host may plant cookies of the same name: each is tried."""
    tossed = {"Cookie": f"starlight_session=evil; other=1; {page['Cookie']}", "X-CSRF-Token": page["X-CSRF-Token"]}
    assert (await desk.anyone.get("/me", headers=tossed)).status == 200


@pytest.mark.parametrize("value", ["", "Basic YTpi", "Bearer", "Bearer ", "Bearer nonsense", "Bearer " + "x" * 5000])
async def test_credentials_that_are_none_are_refused(desk: Desk, value: str) -> None:
    """A wrong Authorization header never falls back to anything else."""
    refused = await desk.anyone.get("/me", headers={"Authorization": value})
    assert (refused.status, refused.code) == (401, "sign_in_required")
    assert refused.raw.headers["WWW-Authenticate"].startswith("Bearer")


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
