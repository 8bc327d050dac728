"""Who makes a call: bearer tokens, and the console's cookie together with its page's secret."""

from __future__ import annotations

import pytest

from tests.control.api.desk import PASSWORD, Desk


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
