"""Share codes over the API: set, redeemed, limited, cancelled."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.control.api.desk import START, Caller, Desk

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


@pytest.fixture
async def entry(desk: Desk, alice: Caller) -> int:
    """The id of a private http entry of alice's running job."""
    job = await desk.running_job(alice, entries=[WEB], ssh_default=False)
    return int(job["entries"][0]["id"])


async def test_a_generated_code_redeems_alone(both_desks: Desk) -> None:
    """The whole walk, over both databases: share, link, redeem, see who, find it again, cancel."""
    desk = both_desks
    alice, bob = await desk.person("alice"), await desk.person("bob")
    job = await desk.running_job(alice, entries=[WEB])
    entry, label = job["entries"][0]["id"], job["entries"][0]["label"]
    share = await alice.put(f"/entries/{entry}/share", {})
    assert share.status == 200
    assert share.body["generated"] is True
    fragment = parse_qs(urlsplit(share.body["link"]).fragment)
    assert fragment == {"code": [share.body["code"]], "entry": [label]}
    assert (await alice.get(f"/entries/{entry}/share")).body == share.body
    assert (await bob.get(f"/entries/{entry}")).code == "entry_forbidden"

    redeemed = await bob.post("/shares/redeem", {"code": f" {share.body['code'].upper()} "})
    assert redeemed.status == 200
    assert redeemed.body["entry"]["id"] == entry
    assert redeemed.body["entry"]["mine"] is False
    assert redeemed.body["job"] == {"id": job["id"], "name": "sleep", "owner": "alice", "state": "running"}
    assert (await bob.get(f"/entries/{entry}")).status == 200
    [shared] = (await bob.get("/entries?view=shared")).body["items"]
    assert shared["entry"]["id"] == entry

    [grant] = (await alice.get(f"/entries/{entry}/share/grants")).body["items"]
    assert grant["user"]["username"] == "bob"
    assert (await alice.get(f"/entries/{entry}/share")).body["uses"] == 1
    cancelled = await alice.delete(f"/entries/{entry}/share")
    assert (cancelled.status, cancelled.body) == (200, {"pending": [], "stops_by": None})
    assert (await bob.get("/entries?view=shared")).body["items"] == []
    assert (await bob.post("/shares/redeem", {"code": share.body["code"]})).code == "share_code_wrong"
    assert (await alice.get(f"/entries/{entry}/share")).code == "not_shared"


async def test_a_generated_code_has_more_than_80_bits(alice: Caller, entry: int) -> None:
    """20 characters of 31: it cannot be guessed, so it needs no entry beside it."""
    codes = {(await alice.put(f"/entries/{entry}/share", {})).body["code"] for _ in range(5)}
    assert len(codes) == 5
    assert all(len(code.replace("-", "")) == 20 for code in codes)


async def test_a_chosen_code_needs_its_entry(alice: Caller, bob: Caller, entry: int) -> None:
    """Two owners may choose the same word; alone it opens nothing."""
    share = await alice.put(f"/entries/{entry}/share", {"code": "我们的共享码2026"})
    assert share.body["generated"] is False
    assert (await bob.post("/shares/redeem", {"code": "我们的共享码2026"})).code == "share_code_wrong"
    assert (
        await bob.post("/shares/redeem", {"code": "我们的共享码2026", "entry": entry + 1})
    ).code == "share_code_wrong"
    label = (await alice.get(f"/entries/{entry}")).body["label"]
    assert (await bob.post("/shares/redeem", {"code": "我们的共享码2026", "entry": label})).status == 200
    assert (await bob.post("/shares/redeem", {"code": "我们的共享码2026", "entry": entry})).status == 200


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"code": "short"}, "code"),
        ({"code": "        "}, "code"),
        ({"code": "x" * 129}, "code"),
        ({"code": "line\nbreak in it"}, "code"),
        ({"max_uses": 0}, "max_uses"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"expires_at": "2030-01-01T00:00:00"}, "expires_at"),
    ],
)
async def test_a_share_that_makes_no_sense_is_refused(
    alice: Caller, entry: int, wish: dict[str, object], field: str
) -> None:
    """Each fault at its field."""
    refused = await alice.put(f"/entries/{entry}/share", wish)
    assert (refused.status, set(refused.body["fields"])) == (422, {field})


async def test_only_private_entries_are_shared_by_code(desk: Desk, alice: Caller) -> None:
    """A login or open entry needs no code, and is told so."""
    job = await desk.running_job(alice, entries=[WEB | {"level": "login"}])
    refused = await alice.put(f"/entries/{job['entries'][0]['id']}/share", {})
    assert (refused.status, refused.code) == (409, "entry_not_shareable")


async def test_a_code_ends_with_its_uses_and_its_time(
    desk: Desk, alice: Caller, bob: Caller, admin: Caller, entry: int
) -> None:
    """Used up for the next person, not for who holds it; expired for everyone."""
    limits = {"max_uses": 1, "expires_at": "2027-01-15T09:00:00Z"}
    code = (await alice.put(f"/entries/{entry}/share", limits)).body["code"]
    assert (await alice.post("/shares/redeem", {"code": code})).status == 200  # the owner uses nothing up
    assert (await bob.post("/shares/redeem", {"code": code})).status == 200
    assert (await bob.post("/shares/redeem", {"code": code})).status == 200
    assert (await admin.post("/shares/redeem", {"code": code})).code == "share_used_up"
    desk.clock.at = START + 3601
    assert (await bob.post("/shares/redeem", {"code": code})).code == "share_expired"
    assert (await bob.get(f"/entries/{entry}")).code == "entry_forbidden"


async def test_guessing_codes_is_slowed_down(desk: Desk, bob: Caller) -> None:
    """Ten wrong ones and the eleventh is not looked at, until some time has passed."""
    for _ in range(10):
        assert (await bob.post("/shares/redeem", {"code": "guess guess"})).code == "share_code_wrong"
    waiting = await bob.post("/shares/redeem", {"code": "guess guess"})
    assert (waiting.status, waiting.code) == (429, "rate_limited")
    desk.clock.at += waiting.body["retry_after_s"] + 1
    assert (await bob.post("/shares/redeem", {"code": "guess guess"})).code == "share_code_wrong"


async def test_one_grant_is_taken_back_and_the_others_stay(desk: Desk, alice: Caller, bob: Caller, entry: int) -> None:
    """The owner sends one guest away."""
    carol = await desk.person("carol")
    code = (await alice.put(f"/entries/{entry}/share", {})).body["code"]
    for guest in (bob, carol):
        await guest.post("/shares/redeem", {"code": code})
    grants = (await alice.get(f"/entries/{entry}/share/grants")).body["items"]
    gone = next(grant["id"] for grant in grants if grant["user"]["username"] == "bob")
    assert (await alice.delete(f"/entries/{entry}/share/grants/{gone}")).status == 200
    assert (await bob.get(f"/entries/{entry}")).code == "entry_forbidden"
    assert (await carol.get(f"/entries/{entry}")).status == 200
    assert (await alice.delete(f"/entries/{entry}/share/grants/{gone}")).code == "not_found"


async def test_a_withdrawal_names_gateways_that_have_not_confirmed(desk: Desk, alice: Caller, entry: int) -> None:
    """The owner learns who may still serve, and by when that stops by itself."""
    code = (await alice.put(f"/entries/{entry}/share", {})).body["code"]
    bob = await desk.person("bob")
    await bob.post("/shares/redeem", {"code": code})
    desk.gateways.behind = ("web-1",)
    cancelled = await alice.delete(f"/entries/{entry}/share")
    assert cancelled.body["pending"] == ["web-1"]
    assert cancelled.body["stops_by"] == "2027-01-15T08:05:00.000Z"


async def test_share_codes_lie_sealed_in_the_database(desk: Desk, alice: Caller, entry: int, tmp_path: object) -> None:
    """A copy of the database holds no code that works."""
    code = (await alice.put(f"/entries/{entry}/share", {})).body["code"]
    async with desk.db.read() as session:
        connection = await session.connection()
        rows = (await connection.exec_driver_sql("SELECT code_hmac, code_sealed FROM share")).all()
    assert all(code not in str(row) for row in rows)
