"""The hop from the console to an entry: who gets a code, where it leads, and what it is bound to."""

from __future__ import annotations

import hashlib
from urllib.parse import parse_qs, urlsplit

import pytest

from control.domain.jobs.states import State
from control.store import shares
from tests.control.api.desk import Caller, Desk

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}
CHALLENGE = "A" * 43


@pytest.fixture
async def job(desk: Desk, alice: Caller) -> dict[str, object]:
    """Alice's running job with a private entry."""
    return await desk.running_job(alice, entries=[WEB])


def wish(job: dict[str, object], **change: str) -> dict[str, str]:
    """The body of a hop to the job's first entry."""
    entries = job["entries"]
    assert isinstance(entries, list)
    return {"entry": entries[0]["label"], "state": "s1", "challenge": CHALLENGE} | change


async def test_the_owner_is_sent_to_the_entrys_own_origin(desk: Desk, alice: Caller, job: dict[str, object]) -> None:
    """The address comes from the database, the code is in the fragment, and it works once."""
    made = await alice.post("/hops", wish(job))
    assert made.status == 201
    url = urlsplit(made.body["url"])
    label = wish(job)["entry"]
    assert (url.scheme, url.netloc, url.path) == ("http", f"{label}.proxy.localhost:8888", "/.starlight/callback")
    fragment = parse_qs(url.fragment)
    assert fragment["state"] == ["s1"]
    hashed = hashlib.sha256(fragment["code"][0].encode()).hexdigest()
    entry_id = (await alice.get(f"/entries/{label}")).body["id"]
    async with desk.db.write() as session:
        taken = await shares.take_hop(
            session, code_hash=hashed, entry_id=entry_id, challenge=CHALLENGE, now=desk.clock()
        )
        again = await shares.take_hop(
            session, code_hash=hashed, entry_id=entry_id, challenge=CHALLENGE, now=desk.clock()
        )
    assert taken is not None
    assert again is None


async def test_a_code_is_good_for_a_minute(desk: Desk, alice: Caller, job: dict[str, object]) -> None:
    """One that lay about is worth nothing."""
    url = urlsplit((await alice.post("/hops", wish(job))).body["url"])
    hashed = hashlib.sha256(parse_qs(url.fragment)["code"][0].encode()).hexdigest()
    desk.clock.at += 61
    async with desk.db.write() as session:
        assert (
            await shares.take_hop(session, code_hash=hashed, entry_id=1, challenge=CHALLENGE, now=desk.clock()) is None
        )


async def test_who_has_no_right_gets_no_code(alice: Caller, bob: Caller, job: dict[str, object]) -> None:
    """403 with the code on which the page offers to redeem a share code; with a grant it is a hop."""
    refused = await bob.post("/hops", wish(job))
    assert (refused.status, refused.code) == (403, "entry_forbidden")
    label = wish(job)["entry"]
    code = (await alice.put(f"/entries/{label}/share", {})).body["code"]
    await bob.post("/shares/redeem", {"code": code})
    assert (await bob.post("/hops", wish(job))).status == 201


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"state": ""}, "state"),
        ({"state": "a b"}, "state"),
        ({"state": "s&code=evil"}, "state"),
        ({"state": "x" * 129}, "state"),
        ({"challenge": "short"}, "challenge"),
        ({"challenge": "!" * 43}, "challenge"),
    ],
)
async def test_a_hop_that_is_none_is_refused(
    alice: Caller, job: dict[str, object], change: dict[str, str], field: str
) -> None:
    """Nothing that could change the address gets into it."""
    refused = await alice.post("/hops", wish(job, **change))
    assert (refused.status, set(refused.body["fields"])) == (422, {field})


async def test_an_ended_job_and_an_unknown_entry_are_told_apart(
    desk: Desk, alice: Caller, job: dict[str, object]
) -> None:
    """The page says which, in its own words."""
    unknown = await alice.post("/hops", wish(job, entry="0" * 32))
    assert (unknown.status, unknown.code) == (404, "not_found")
    await desk.move(str(job["id"]), State.FINISHED)
    ended = await alice.post("/hops", wish(job))
    assert (ended.status, ended.code) == (409, "job_ended")


async def test_an_api_token_makes_no_hop(desk: Desk, alice: Caller, job: dict[str, object]) -> None:
    """A hop carries a console sign-in, so that signing out ends the visit; programs use X-Starlight-Token."""
    token = (await alice.post("/me/tokens", {"name": "script"})).body["token"]
    refused = await desk.anyone.post("/hops", wish(job), headers={"Authorization": f"Bearer {token}"})
    assert (refused.status, refused.code) == (401, "sign_in_required")
