"""Certificates by ACME over the API: who may ask, how it is told, and the person's own part."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from control.domain.acme import DOMAINS_PER_DAY, TRIES_PER_HOUR, Complaint
from control.domain.jobs.states import State
from control.domain.people import Role
from control.store import acme
from control.store.acme_tables import AcmeOrder
from tests.control.api.desk import START, Caller, Desk
from tests.control.api.test_domains import CA, pair

NAME = "lab.example.org"
WEB = {"name": "web", "protocol": "https", "level": "login", "target_port": 8000, "domain": NAME, "acme": True}


async def add(desk: Desk, owner: Caller, **change: Any) -> dict[str, Any]:
    """The entry, in a running job of its own."""
    job = await desk.running_job(owner)
    made = await owner.post(f"/jobs/{job['id']}/entries", WEB | change)
    assert made.status == 201, made.body
    return dict(made.body) | {"job": job["id"]}


async def change(desk: Desk, domain: str = NAME, **facts: Any) -> None:
    """Puts the order where a test wants it."""
    async with desk.db.write() as session:
        row = (await session.scalars(select(AcmeOrder).where(AcmeOrder.domain == domain))).one()
        for name, value in facts.items():
            setattr(row, name, value)


async def state(owner: Caller, entry: dict[str, Any]) -> dict[str, Any]:
    """How far it is."""
    return dict((await owner.get(f"/entries/{entry['id']}")).body["domain_state"]["acme"])


async def test_an_entry_waits_for_its_certificate_and_says_so(desk: Desk, alice: Caller) -> None:
    """No certificate yet, no gateway knows it; what has to lead where is said with it."""
    entry = await add(desk, alice)
    assert (entry["active"], entry["certificate"]) == (False, None)
    assert entry["domain_state"]["acme"]["stage"] == "waiting"
    assert entry["domain_state"]["acme"]["challenge"] == "http-01"
    assert "Port 80 of 203.0.113.7 has to be forwarded to the platform's port 8888" in entry["message"]
    ways = (await alice.get("/platform")).body["acme"]
    assert [(way["challenge"], way["world_port"], way["our_port"]) for way in ways] == [
        ("http-01", 80, 8888),
        ("tls-alpn-01", 443, 443),
        ("dns-01", None, None),
    ]
    assert "forwarded" in ways[0]["message"]
    assert "forwarded" not in ways[1]["message"]


async def test_a_record_is_looked_for_before_the_authority_looks(desk: Desk, alice: Caller, bob: Caller) -> None:
    """A look in vain would count. Only the owner and administrators see what to set."""
    entry = await add(desk, alice, acme_challenge="dns-01")
    assert (await alice.post(f"/entries/{entry['id']}/domain/continue")).status == 200  # nothing to do yet
    await change(desk, order_url="https://acme.test/order/1", authorization="token.thumb", token="token")
    shown = await state(alice, entry)
    assert (shown["stage"], shown["txt_name"]) == ("by_hand", f"_acme-challenge.{NAME}")
    assert shown["txt_value"] in shown["message"]
    assert (await state(bob, entry))["txt_value"] is None
    assert (await state(await desk.person("root", Role.ADMIN), entry))["txt_value"] == shown["txt_value"]
    missing = await alice.post(f"/entries/{entry['id']}/domain/continue")
    assert (missing.status, missing.body["code"]) == (409, "record_missing")
    desk.names.txt[shown["txt_name"]] = {shown["txt_value"]}
    assert (await alice.post(f"/entries/{entry['id']}/domain/continue")).status == 200
    assert (await state(alice, entry))["stage"] == "waiting"
    assert (await bob.post(f"/entries/{entry['id']}/domain/continue")).status == 404


async def test_a_refusal_is_shown_and_tried_again_by_hand(desk: Desk, alice: Caller) -> None:
    """In the authority's words, with the next try; a person tries so often in an hour."""
    entry = await add(desk, alice)
    said = Complaint("dns", "no such name").plain(START)
    await change(desk, complaint=said, failures=1, due_at=START + 300, tries=[START])
    shown = await state(alice, entry)
    assert (shown["stage"], shown["complaint"], shown["next_try_at"]) == (
        "failed",
        "no such name",
        "2027-01-15T08:05:00.000Z",
    )
    assert "no such name" in shown["message"]
    assert (await alice.post(f"/entries/{entry['id']}/domain/continue")).status == 200
    assert (await state(alice, entry))["next_try_at"] == "2027-01-15T08:00:00.000Z"
    await change(desk, tries=[START] * TRIES_PER_HOUR)
    refused = await alice.post(f"/entries/{entry['id']}/domain/continue")
    assert (refused.status, refused.body["retry_after_s"]) == (429, 3600)


async def test_who_had_the_domain_before_is_not_overtaken_by_leading_here(
    desk: Desk, alice: Caller, bob: Caller
) -> None:
    """Its name still leads here when the job has ended: another person has to prove it by DNS."""
    entry = await add(desk, alice)
    admin = await desk.person("root", Role.ADMIN)
    assert (await admin.post(f"/entries/{entry['id']}/domain/approve")).status == 200
    await desk.move(entry["job"], State.FINISHED)
    job = await desk.running_job(bob)
    refused = await bob.post(f"/jobs/{job['id']}/entries", WEB)
    assert (refused.status, set(refused.body["fields"])) == (422, {"acme_challenge"})
    assert (await bob.post(f"/jobs/{job['id']}/entries", WEB | {"acme_challenge": "dns-01"})).status == 201
    assert (await add(desk, alice, domain="other.example.org"))["domain"] == "other.example.org"


async def test_one_person_asks_for_so_many_domains_in_a_day(desk: Desk, alice: Caller) -> None:
    """The authority's limits are everybody's here; a domain that was asked for already is no new one."""
    entry = await add(desk, alice)
    async with desk.db.write() as session:
        mine = (await session.scalars(select(AcmeOrder))).one()
        for number in range(DOMAINS_PER_DAY - 1):
            row = AcmeOrder(owner_id=mine.owner_id, domain=f"d{number}.example.org", method=mine.method)
            row.created_at = row.due_at = START
            row.tries = []
            session.add(row)
        await session.flush()
        assert await acme.new_domains(session, mine.owner_id, START - 1) == DOMAINS_PER_DAY
    job = await desk.running_job(alice)
    refused = await alice.post(f"/jobs/{job['id']}/entries", WEB | {"domain": "one-more.example.org"})
    assert refused.status == 429
    assert (await alice.patch(f"/entries/{entry['id']}", {"acme": True, "acme_challenge": "dns-01"})).status == 200


async def test_an_uploaded_pair_ends_the_asking(desk: Desk, alice: Caller) -> None:
    """And the other way round; an entry whose owner brings certificates has no order to go on with."""
    entry = await add(desk, alice)
    changed = await alice.patch(f"/entries/{entry['id']}", pair())
    assert (changed.body["domain_state"]["acme"], changed.body["certificate"]["days_left"]) == (None, 90)
    refused = await alice.post(f"/entries/{entry['id']}/domain/continue")
    assert (refused.status, refused.body["code"]) == (409, "no_order")
    again = (await alice.patch(f"/entries/{entry['id']}", {"acme": True})).body
    assert again["domain_state"]["acme"]["stage"] == "waiting"
    assert again["certificate"]["days_left"] == 90  # what was served is served on


async def test_a_certificate_that_renews_itself_is_not_warned_of(desk: Desk, alice: Caller) -> None:
    """Until the next one is late."""
    entry = await add(desk, alice)
    short = await alice.patch(f"/entries/{entry['id']}", pair(CA.leaf(NAME, days=5)))
    assert short.body["certificate"]["warning"] == "expiring"
    await alice.patch(f"/entries/{entry['id']}", {"acme": True})
    await change(desk, renew_at=START + 10, chain_pem="given", failures=0)
    shown = (await alice.get(f"/entries/{entry['id']}")).body
    assert shown["certificate"]["warning"] is None
    assert shown["domain_state"]["acme"]["renews_at"] is not None
    await change(desk, failures=1)
    assert (await alice.get(f"/entries/{entry['id']}")).body["certificate"]["warning"] == "expiring"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"acme_challenge": "http-02"}, "acme_challenge"),
        ({"acme": None, "acme_challenge": "dns-01"}, "acme"),
        ({"acme": "yes"}, "acme"),
        ({"private_key": "x"}, "private_key"),
        ({"domain": None}, "domain"),
        ({"domain": "*.example.org"}, "domain"),
        ({"protocol": "http"}, "domain"),
    ],
)
async def test_a_faulty_wish_is_refused_at_its_field(
    desk: Desk, alice: Caller, wrong: dict[str, Any], field: str
) -> None:
    """As every other field of an entry is."""
    job = await desk.running_job(alice)
    refused = await alice.post(f"/jobs/{job['id']}/entries", WEB | wrong)
    assert (refused.status, set(refused.body["fields"])) == (422, {field})
