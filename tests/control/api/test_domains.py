"""Entries' own domains over the API: judged at upload, proved, replaced, released."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from control.actions.context import LOOKUPS_PER_MINUTE
from control.domain.jobs.states import State
from control.domain.people import Role
from tests.certs.authority import Authority, Signer
from tests.control.api.desk import START, Caller, Desk

CA = Authority(datetime.fromtimestamp(START, UTC))
NAME = "lab.example.org"
GOOD = CA.leaf(NAME)


def pair(leaf: Signer = GOOD) -> dict[str, str]:
    """Certificate and key as they are uploaded."""
    return {"certificate": leaf.pem + CA.intermediate.pem + CA.root.pem, "private_key": leaf.key_pem()}


def spec(**change: Any) -> dict[str, Any]:
    """An https entry with a domain of its own."""
    return {"name": "web", "protocol": "https", "level": "login", "target_port": 8000, "domain": NAME} | pair() | change


async def add(desk: Desk, owner: Caller, **change: Any) -> dict[str, Any]:
    """The entry, in a running job of its own."""
    job = await desk.running_job(owner)
    made = await owner.post(f"/jobs/{job['id']}/entries", spec(**change))
    assert made.status == 201, made.body
    return dict(made.body) | {"job": job["id"]}


async def record(owner: Caller) -> tuple[str, str]:
    """Name and value of the TXT record that would prove the domain to be the caller's."""
    seen = (await owner.post("/domains/check", {"domain": NAME})).body
    return seen["txt_name"], seen["txt_value"]


async def test_a_publicly_trusted_chain_proves_the_domain(both_desks: Desk) -> None:
    """The entry is served under its domain at once; what the certificate is stands beside it."""
    both_desks.roots.append(CA.root.certificate)
    alice = await both_desks.person("alice")
    entry = await add(both_desks, alice, domain="Lab.Example.ORG.")
    assert (entry["domain"], entry["host"], entry["url"]) == (NAME, NAME, f"https://{NAME}:8443/")
    assert entry["active"]
    assert entry["domain_state"]["proof"] == "chain"
    assert entry["certificate"]["sans"] == [NAME]
    assert entry["certificate"]["issuer"] == "CN=Test Issuing CA"
    assert entry["certificate"]["warning"] is None
    assert (entry["certificate"]["days_left"], entry["certificate"]["subject"]) == (90, "")
    assert "PRIVATE" not in str(entry)


async def test_an_unproved_domain_is_not_served_and_says_what_to_do(desk: Desk, alice: Caller) -> None:
    """Inactive, with the record to set; the name service is believed when it is asked again."""
    name, value = await record(alice)
    assert name == f"_starlight.{NAME}"
    entry = await add(desk, alice)
    assert not entry["active"]
    assert value in entry["message"]
    assert (entry["domain_state"]["proof"], entry["domain_state"]["txt_value"]) == (None, value)
    assert not (await alice.post(f"/entries/{entry['id']}/domain/check")).body["active"]
    desk.names.txt[name] = {"v=spf1 -all", value}
    desk.names.leads[NAME] = {"203.0.113.7"}
    proved = (await alice.post(f"/entries/{entry['id']}/domain/check")).body
    assert proved["active"]
    assert (proved["domain_state"]["proof"], proved["domain_state"]["points"]) == ("dns", "yes")


async def test_a_record_that_stands_before_is_a_proof_at_once(desk: Desk, alice: Caller) -> None:
    """And a domain that leads elsewhere is served, with a word about it."""
    name, value = await record(alice)
    desk.names.txt[name], desk.names.leads[NAME] = {value}, {"198.51.100.1"}
    entry = await add(desk, alice)
    assert entry["active"]
    state = (await alice.post(f"/entries/{entry['id']}/domain/check")).body["domain_state"]
    assert (state["points"], state["addresses"]) == ("no", ["198.51.100.1"])
    assert "203.0.113.7" in state["message"]


async def test_anothers_record_proves_nothing(desk: Desk, alice: Caller, bob: Caller) -> None:
    """The record is made for one person and one domain."""
    name, value = await record(alice)
    desk.names.txt[name] = {value}
    assert not (await add(desk, bob))["active"]


async def test_an_administrators_word_proves_it(desk: Desk, alice: Caller, bob: Caller) -> None:
    """Nobody else's does."""
    entry = await add(desk, alice)
    admin = await desk.person("root", Role.ADMIN)
    assert (await alice.post(f"/entries/{entry['id']}/domain/approve")).status == 403
    assert (await bob.post(f"/entries/{entry['id']}/domain/approve")).status == 403
    for _ in range(2):
        approved = await admin.post(f"/entries/{entry['id']}/domain/approve")
        assert approved.body["domain_state"]["proof"] == "admin"
    assert (await alice.get(f"/entries/{entry['id']}")).body["active"]


async def test_a_domain_serves_one_entry_until_its_job_ends(desk: Desk, alice: Caller, bob: Caller) -> None:
    """409 while it lives, free afterwards."""
    desk.roots.append(CA.root.certificate)
    entry = await add(desk, alice)
    job = await desk.running_job(bob)
    refused = await bob.post(f"/jobs/{job['id']}/entries", spec())
    assert (refused.status, refused.body["code"]) == (409, "domain_taken")
    assert "domain" in refused.body["fields"]
    assert (await bob.post("/domains/check", {"domain": NAME})).body["code"] == "domain_taken"
    await desk.move(entry["job"], State.FINISHED)
    assert (await bob.post(f"/jobs/{job['id']}/entries", spec())).status == 201
    ended = (await alice.get(f"/jobs/{entry['job']}")).body["entries"]
    assert not any(one["active"] for one in ended)


async def test_who_proves_a_domain_takes_it_from_who_only_waits(desk: Desk, alice: Caller, bob: Caller) -> None:
    """Nobody can keep the true owner out; without a proof of one's own the first has it."""
    waiting = await add(desk, alice)
    job = await desk.running_job(bob)
    assert (await bob.post(f"/jobs/{job['id']}/entries", spec())).status == 409
    desk.roots.append(CA.root.certificate)
    owned = await bob.post(f"/jobs/{job['id']}/entries", spec())
    assert owned.body["active"]
    lost = (await alice.get(f"/entries/{waiting['id']}")).body
    assert not lost["active"]
    assert "another entry" in lost["message"]
    admin = await desk.person("root", Role.ADMIN)
    assert (await admin.post(f"/entries/{waiting['id']}/domain/approve")).status == 409


async def test_a_removed_entry_frees_its_domain(desk: Desk, alice: Caller) -> None:
    """At once."""
    entry = await add(desk, alice)
    await alice.delete(f"/entries/{entry['id']}")
    assert (await add(desk, alice))["domain"] == NAME


@pytest.mark.parametrize(
    ("change", "field", "word"),
    [
        ({"domain": "x.proxy.localhost"}, "domain", "platform's own"),
        ({"domain": "proxy.localhost"}, "domain", "platform's own"),
        ({"domain": "a.console.localhost"}, "domain", "platform's own"),
        ({"domain": "203.0.113.7"}, "domain", "not a domain"),
        ({"domain": "*.example.org"}, "domain", "not a domain"),
        ({"domain": "localhost"}, "domain", "not a domain"),
        ({"domain": None}, "domain", "required"),
        ({"domain": "other.example.org"}, "certificate", "not for other.example.org"),
        ({"private_key": None}, "private_key", "required"),
        ({"private_key": CA.leaf(NAME).key_pem()}, "private_key", "does not belong"),
        ({"private_key": GOOD.key_pem("x")}, "private_key_password", "locked"),
        ({"private_key": GOOD.key_pem("x"), "private_key_password": "y"}, "private_key_password", "does not open"),
        ({"private_key": "secret"}, "private_key", "no PEM"),
        ({"certificate": "nothing"}, "certificate", "no PEM"),
        ({"certificate": GOOD.pem}, "certificate", "CN=Test Issuing CA"),
        ({"certificate": "x" * 300_000}, "certificate", "At most"),
        ({"protocol": "http"}, "domain", "https"),
        ({"acme": True}, "certificate", "not allowed"),
    ],
)
async def test_a_bad_pair_is_refused_at_its_field(
    desk: Desk, alice: Caller, change: dict[str, Any], field: str, word: str
) -> None:
    """In plain words, in both languages, and the key is never repeated."""
    job = await desk.running_job(alice)
    refused = await alice.post(f"/jobs/{job['id']}/entries", spec(**change))
    assert refused.status == 422, refused.body
    assert word in refused.body["fields"][field], refused.body
    assert "PRIVATE KEY-----\n" not in str(refused.body)


async def test_questions_about_domains_have_a_pace(desk: Desk, alice: Caller, bob: Caller) -> None:
    """They cost others a look-up: one too many in a minute waits, and nobody else with it."""
    for _ in range(LOOKUPS_PER_MINUTE):
        assert (await alice.post("/domains/check", {"domain": NAME})).status == 200
    refused = await alice.post("/domains/check", {"domain": NAME})
    assert (refused.status, refused.body["code"], refused.body["retry_after_s"]) == (429, "rate_limited", 60)
    assert (await bob.post("/domains/check", {"domain": NAME})).status == 200


async def test_what_has_ended_or_not_begun_is_refused(desk: Desk, alice: Caller) -> None:
    """With the day."""
    job = await desk.running_job(alice)
    for leaf, word in ((CA.leaf(NAME, since=-9, days=-1), "ended on 20"), (CA.leaf(NAME, since=1), "counts from 20")):
        refused = await alice.post(f"/jobs/{job['id']}/entries", spec(**pair(leaf)))
        assert word in refused.body["fields"]["certificate"]


async def test_the_old_pair_serves_until_the_new_one_is_good(desk: Desk, alice: Caller) -> None:
    """B55: a refused replacement changes nothing; a good one counts at once and keeps the proof."""
    desk.roots.append(CA.root.certificate)
    entry = await add(desk, alice)
    bad = await alice.patch(f"/entries/{entry['id']}", pair() | {"private_key": CA.leaf(NAME).key_pem()})
    assert bad.status == 422
    assert (await alice.get(f"/entries/{entry['id']}")).body["certificate"] == entry["certificate"]
    assert (await alice.patch(f"/entries/{entry['id']}", {"certificate": GOOD.pem})).body["fields"].keys() == {
        "private_key"
    }
    assert (await alice.patch(f"/entries/{entry['id']}", {})).status == 422
    desk.roots.clear()
    changed = await alice.patch(f"/entries/{entry['id']}", pair(CA.leaf(NAME, days=200)) | {"level": "open"})
    assert (changed.body["certificate"]["days_left"], changed.body["level"]) == (200, "open")
    assert changed.body["domain_state"]["proof"] == "chain"
    assert changed.body["active"]


async def test_an_entry_gets_another_domain(desk: Desk, alice: Caller, bob: Caller) -> None:
    """The first is free again; only https entries have one, and only their owner changes it."""
    desk.roots.append(CA.root.certificate)
    entry = await add(desk, alice)
    other = CA.leaf("two.example.org")
    moved = await alice.patch(f"/entries/{entry['id']}", {"domain": "two.example.org"} | pair(other))
    assert (moved.status, moved.body["host"]) == (200, "two.example.org")
    job = await desk.running_job(bob)
    assert (await bob.post(f"/jobs/{job['id']}/entries", spec())).status == 201
    assert (await bob.patch(f"/entries/{entry['id']}", pair(other))).status == 404
    plain = await alice.post(f"/jobs/{entry['job']}/entries", spec(name="p", protocol="http", target_port=1, **NOTHING))
    refused = await alice.patch(f"/entries/{plain.body['id']}", {"domain": NAME} | pair())
    assert "https" in refused.body["fields"]["domain"]
    no_domain = await alice.patch(f"/entries/{plain.body['id']}", pair())
    assert no_domain.status == 422
    assert (await alice.post(f"/entries/{plain.body['id']}/domain/check")).body["code"] == "no_domain"


NOTHING: dict[str, Any] = {"domain": None, "certificate": None, "private_key": None}


async def test_a_job_is_submitted_with_a_domain(desk: Desk, alice: Caller) -> None:
    """As with an entry that is added later; a fault is told at its place in the list."""
    desk.roots.append(CA.root.certificate)
    made = await alice.post("/jobs", {"command": ["true"], "entries": [spec()]})
    assert made.body["entries"][0]["domain"] == NAME
    refused = await alice.post("/jobs", {"command": ["true"], "entries": [spec(certificate="x")]})
    assert "entries[0].certificate" in refused.body["fields"]


async def test_a_domain_is_looked_at_before_it_is_asked_for(desk: Desk, alice: Caller) -> None:
    """The dialog's verdict: where it points, what the pair is, what is missing. Nothing is kept."""
    desk.names.leads[NAME] = {"203.0.113.7", "2001:db8::1"}
    seen = (await alice.post("/domains/check", {"domain": NAME} | pair())).body
    assert (seen["points"], seen["proof"], seen["certificate"]["sans"]) == ("yes", None, [NAME])
    assert seen["public_address"] == "203.0.113.7"
    assert seen["txt_value"] in seen["message"]
    desk.roots.append(CA.root.certificate)
    assert (await alice.post("/domains/check", {"domain": NAME} | pair())).body["proof"] == "chain"
    for body, field in (
        ({"domain": "no domain"}, "domain"),
        ({"domain": "proxy.localhost"}, "domain"),
        ({"domain": NAME, "certificate": "x"}, "private_key"),
        ({"domain": NAME, "certificate": "x", "private_key": "y"}, "certificate"),
    ):
        assert field in (await alice.post("/domains/check", body)).body["fields"]


async def test_a_certificate_that_ends_soon_wears_a_badge(desk: Desk, alice: Caller) -> None:
    """From 30 days before its end."""
    desk.roots.append(CA.root.certificate)
    entry = await add(desk, alice, **pair(CA.leaf(NAME, days=29)))
    assert entry["certificate"]["warning"] == "expiring"
    desk.clock.at += 30 * 24 * 3600.0
    again = await desk.sign_in("alice")
    assert (await again.get(f"/entries/{entry['id']}")).body["certificate"]["warning"] == "expired"
