"""A person's own account over the API: language, password, keys, tokens."""

from __future__ import annotations

import pytest

from tests.control.api.desk import PASSWORD, Caller, Desk
from tests.control.api.test_rights import public_key


async def test_a_person_sees_and_sets_their_own_account(both_desks: Desk) -> None:
    """The language is kept, because gateways speak it too."""
    alice = await both_desks.person("alice")
    me = await alice.get("/me")
    assert (me.body["username"], me.body["role"], me.body["language"]) == ("alice", "user", "en"), (
        "as the first sign-in asked"
    )
    assert (await alice.patch("/me", {"language": "zh"})).body["language"] == "zh"
    assert (await alice.get("/me")).body["language"] == "zh"
    assert (await alice.patch("/me", {"language": "tlh"})).code == "invalid_input"


async def test_a_new_password_ends_every_other_sign_in(desk: Desk, alice: Caller) -> None:
    """Who knew the old one is out; the page that changed it stays."""
    elsewhere = await desk.sign_in("alice")
    changed = await alice.put("/me/password", {"current": PASSWORD, "new": "battery staple"})
    assert changed.status == 204
    assert (await elsewhere.get("/me")).status == 401
    assert (await alice.get("/me")).status == 200
    old = await desk.anyone.post("/sessions", {"username": "alice", "password": PASSWORD})
    new = await desk.anyone.post("/sessions", {"username": "alice", "password": "battery staple"})
    assert (old.status, new.status) == (401, 201)


@pytest.mark.parametrize(
    ("current", "new", "field"),
    [("wrong horse", "battery staple", "current"), (PASSWORD, "short", "new"), (PASSWORD, "x" * 1025, "new")],
)
async def test_a_password_change_says_what_is_wrong(alice: Caller, current: str, new: str, field: str) -> None:
    """At the field that is."""
    refused = await alice.put("/me/password", {"current": current, "new": new})
    assert (refused.status, set(refused.body["fields"])) == (422, {field})


async def test_guessing_the_current_password_is_slowed_down(alice: Caller) -> None:
    """A stolen page cannot be used to find it out."""
    for _ in range(10):
        await alice.put("/me/password", {"current": "wrong horse", "new": "battery staple"})
    waiting = await alice.put("/me/password", {"current": PASSWORD, "new": "battery staple"})
    assert (waiting.status, waiting.code) == (429, "too_many_attempts")


async def test_keys_are_added_listed_and_removed(both_desks: Desk) -> None:
    """The fingerprint is OpenSSH's, the name is the key's comment unless given."""
    alice, bob = await both_desks.person("alice"), await both_desks.person("bob")
    line = public_key(7)
    added = await alice.post("/me/keys", {"public_key": line + "\n"})
    assert added.status == 201
    assert added.body["name"] == "key 7"
    assert added.body["fingerprint"].startswith("SHA256:")
    again = await alice.post("/me/keys", {"public_key": line, "name": "laptop"})
    assert (again.status, again.code) == (409, "key_exists")
    assert (await bob.post("/me/keys", {"public_key": line, "name": "same"})).status == 201
    assert [key["id"] for key in (await alice.get("/me/keys")).body["items"]] == [added.body["id"]]
    assert (await bob.delete(f"/me/keys/{added.body['id']}")).code == "not_found"
    assert (await alice.delete(f"/me/keys/{added.body['id']}")).status == 204
    assert (await alice.get("/me/keys")).body["items"] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 !!!!",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        public_key(1) + "\n" + public_key(2),
        "x" * 30_000,
    ],
)
async def test_what_is_no_public_key_is_refused(alice: Caller, text: str) -> None:
    """A private key pasted by mistake is refused like any nonsense, and not kept anywhere."""
    refused = await alice.post("/me/keys", {"public_key": text})
    assert (refused.status, set(refused.body["fields"])) == (422, {"public_key"})


async def test_an_api_token_acts_as_its_person_until_withdrawn(both_desks: Desk) -> None:
    """Named, shown once, listed without its secret, gone at once."""
    alice = await both_desks.person("alice")
    made = await alice.post("/me/tokens", {"name": "script", "expires_at": "2027-01-15T09:00:00Z"})
    assert (made.status, made.body["scope"]) == (201, "api")
    bearer = {"Authorization": f"Bearer {made.body['token']}"}
    assert (await both_desks.anyone.get("/me", headers=bearer)).body["username"] == "alice"
    listed = (await alice.get("/me/tokens")).body["items"]
    assert [token["name"] for token in listed] == ["script"]
    assert "token" not in listed[0]
    assert (await alice.delete(f"/me/tokens/{made.body['id']}")).status == 204
    assert (await both_desks.anyone.get("/me", headers=bearer)).status == 401


async def test_an_api_token_ends_at_its_time(desk: Desk, alice: Caller) -> None:
    """And one that would have ended already is not made."""
    made = await alice.post("/me/tokens", {"name": "script", "expires_at": "2027-01-15T09:00:00Z"})
    bearer = {"Authorization": f"Bearer {made.body['token']}"}
    desk.clock.at += 3601
    assert (await desk.anyone.get("/me", headers=bearer)).status == 401
    late = await (await desk.sign_in("alice")).post("/me/tokens", {"name": "s", "expires_at": "2027-01-15T09:00:00Z"})
    assert set(late.body["fields"]) == {"expires_at"}


@pytest.mark.parametrize(
    ("wish", "field"),
    [({"name": " "}, "name"), ({"name": "x", "scope": "root"}, "scope"), ({"name": "x", "entry": 1}, "entry")],
)
async def test_a_token_that_makes_no_sense_is_refused(alice: Caller, wish: dict[str, object], field: str) -> None:
    """At the field that is wrong."""
    refused = await alice.post("/me/tokens", wish)
    assert (refused.status, set(refused.body["fields"])) == (422, {field})
