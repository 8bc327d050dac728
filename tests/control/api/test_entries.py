"""Access entries over the API: added, changed, removed, passed by a token."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.jobs.states import State
from tests.control.api.desk import Caller, Desk

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


async def test_an_entry_is_added_to_a_running_job(both_desks: Desk) -> None:
    """It gets a label never used before, a host below the base domain, and the fixed port of its protocol."""
    alice = await both_desks.person("alice")
    job = await both_desks.running_job(alice)
    made = await alice.post(f"/jobs/{job['id']}/entries", WEB)
    assert made.status == 201
    entry = made.body
    assert len(entry["label"]) == 32
    assert entry["host"] == f"{entry['label']}.proxy.localhost"
    assert entry["url"] == f"http://{entry['host']}:8888/"
    assert (entry["port"], entry["port_kind"], entry["active"], entry["shared"]) == (8888, "fixed", True, False)
    assert (await alice.get(f"/entries/{entry['label']}")).body == entry


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"target_port": 0}, 422, "target_port"),
        ({"target_port": 70000}, 422, "target_port"),
        ({"target_port": "eighty"}, 422, "target_port"),
        ({"target_port": 80.5}, 422, "target_port"),
        ({"target_port": None}, 422, "target_port"),
        ({"name": ""}, 422, "name"),
        ({"name": "x" * 64}, 422, "name"),
        ({"name": "x" * 900_000}, 422, "name"),
        ({"name": "a\u0000b"}, 422, "name"),
        ({"name": "名\ud800字"}, 400, ""),
        ({"level": "everyone"}, 422, "level"),
        ({"level": None}, 422, "level"),
        ({"protocol": "udp"}, 422, "protocol"),
        ({"port": 8888}, 422, "port"),
        ({"service": "terminal"}, 422, "target_port"),
        ({"service": "terminal", "target_port": None, "level": "open"}, 422, "level"),
        ({"service": "terminal", "target_port": None, "protocol": "ssh"}, 422, "service"),
        ({"protocol": "ssh", "app_protocol": "h2c"}, 422, "app_protocol"),
        ({"acme": True}, 422, "domain"),
        ({"limits": {"connections": 0}}, 422, "limits.connections"),
        ({"limits": {"requests_per_minute": "many"}}, 422, "limits.requests_per_minute"),
        ({"limits": {"body_bytes": True}}, 422, "limits.body_bytes"),
        ({"limits": {"speed": 1}}, 422, "limits.speed"),
        ({"limits": 5}, 422, "limits"),
        ({"protocol": "tcp", "limits": {"body_bytes": 5}}, 422, "limits.body_bytes"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
async def test_a_faulty_entry_is_refused_at_its_field(
    desk: Desk, alice: Caller, change: dict[str, Any], status: int, field: str
) -> None:
    """Every rule of an entry, one fault at a time, each with a sentence at its field."""
    job = await desk.running_job(alice)
    refused = await alice.post(f"/jobs/{job['id']}/entries", WEB | change)
    assert refused.status == status, refused.body
    assert set(refused.body.get("fields", {})) == ({field} if field else set())
    assert len((await alice.get(f"/jobs/{job['id']}")).body["entries"]) == 1


@pytest.mark.parametrize(
    ("level", "port", "url"),
    [
        ("private", "fixed", "tls://{host}:8999"),
        ("login", "random", "tls://{host}:40001"),
        ("open", "fixed", "tls://{host}:8999"),
        ("open", "random", "tcp://127.0.0.1:40001"),
    ],
)
async def test_a_tcp_entry_tells_how_it_is_reached(desk: Desk, alice: Caller, level: str, port: str, url: str) -> None:
    """Through TLS by its name, and plainly only where anyone may pass a port of its own."""
    tcp = {"name": "db", "protocol": "tcp", "level": level, "target_port": 5432, "port": port}
    job = await desk.running_job(alice, entries=[tcp])
    entry = job["entries"][0]
    assert entry["url"] == url.format(host=entry["host"])


async def test_a_second_use_of_a_name_or_port_names_the_clash(desk: Desk, alice: Caller) -> None:
    """409, and the sentence says which entry holds it."""
    job = await desk.running_job(alice, entries=[WEB])
    name = await alice.post(f"/jobs/{job['id']}/entries", WEB | {"target_port": 9000})
    port = await alice.post(f"/jobs/{job['id']}/entries", WEB | {"name": "other"})
    assert (name.status, name.code) == (409, "entry_name_taken")
    assert (port.status, port.code) == (409, "target_port_taken")
    assert "web" in port.body["detail"]


async def test_an_ended_job_gets_no_more_entries(desk: Desk, alice: Caller) -> None:
    """There is nothing left to open."""
    job = await desk.running_job(alice)
    await desk.move(job["id"], State.FINISHED)
    refused = await alice.post(f"/jobs/{job['id']}/entries", WEB)
    assert (refused.status, refused.code) == (409, "job_ended")


async def test_raising_the_level_asks_the_gateways_to_cut_at_once(desk: Desk, alice: Caller, bob: Caller) -> None:
    """The call waits for every gateway; who was let in by the old level is out."""
    job = await desk.running_job(alice, entries=[WEB | {"level": "login"}])
    entry = job["entries"][0]["id"]
    assert (await bob.get(f"/entries/{entry}")).status == 200
    changed = await alice.patch(f"/entries/{entry}", {"level": "private"})
    assert (changed.status, changed.body["level"], changed.body["pending"]) == (200, "private", [])
    assert desk.gateways.asked[-1] > 0
    assert (await bob.get(f"/entries/{entry}")).code == "entry_forbidden"


async def test_a_level_that_the_entry_cannot_have_is_refused(desk: Desk, alice: Caller) -> None:
    """A web terminal is a shell: nobody opens one to everyone."""
    terminal = {"name": "web-terminal", "protocol": "http", "level": "private", "service": "terminal"}
    job = await desk.running_job(alice, entries=[terminal])
    refused = await alice.patch(f"/entries/{job['entries'][0]['id']}", {"level": "open"})
    assert (refused.status, set(refused.body["fields"])) == (422, {"level"})


async def test_a_removed_entry_is_gone_and_its_random_port_free(desk: Desk, alice: Caller) -> None:
    """The port goes back once the gateways let go of it."""
    tcp = {"name": "db", "protocol": "tcp", "level": "open", "target_port": 5432, "port": "random"}
    job = await desk.running_job(alice, entries=[tcp])
    entry = job["entries"][0]
    gone = await alice.delete(f"/entries/{entry['id']}")
    assert (gone.status, gone.body) == (200, {"pending": [], "stops_by": None})
    assert desk.ports.released == [entry["port"]]
    assert (await alice.delete(f"/entries/{entry['id']}")).code == "not_found"
    names = [each["name"] for each in (await alice.get(f"/jobs/{job['id']}")).body["entries"]]
    assert names == ["ssh-default"]


async def test_an_administrator_removes_entries_but_opens_none(desk: Desk, alice: Caller, admin: Caller) -> None:
    """Keeping the platform is no right to people's jobs."""
    job = await desk.running_job(alice, entries=[WEB])
    entry = job["entries"][0]["id"]
    assert (await admin.post(f"/jobs/{job['id']}/entries", WEB)).code == "forbidden"
    assert (await admin.patch(f"/entries/{entry}", {"level": "open"})).code == "forbidden"
    assert (await admin.put(f"/entries/{entry}/share", {})).code == "forbidden"
    assert (await admin.get(f"/entries/{entry}")).code == "entry_forbidden"
    assert (await admin.delete(f"/entries/{entry}")).status == 200


async def test_an_entry_token_passes_its_entry_and_nothing_else(desk: Desk, alice: Caller, bob: Caller) -> None:
    """It is refused by every call of the API, and only who may pass the entry gets one."""
    job = await desk.running_job(alice, entries=[WEB])
    entry = job["entries"][0]["id"]
    made = await alice.post(f"/entries/{entry}/token", {})
    assert made.status == 201
    assert (made.body["scope"], made.body["entry_id"]) == ("entry:connect", entry)
    assert made.body["header"] == "X-Starlight-Token"
    assert made.body["expires_at"] == "2027-01-22T08:00:00.000Z"
    bearer = {"Authorization": f"Bearer {made.body['token']}"}
    refused = await desk.anyone.get("/me", headers=bearer)
    assert (refused.status, refused.code) == (403, "scope_insufficient")
    assert (await bob.post(f"/entries/{entry}/token", {})).code == "entry_forbidden"


async def test_the_owner_names_sites_whose_pages_may_call(desk: Desk, alice: Caller, bob: Caller) -> None:
    """At the start or later; written as browsers send them; only for web entries, and only by the owner."""
    job = await desk.running_job(alice, entries=[WEB | {"cors_origins": ["https://A.example:443"]}])
    web, ssh = (f"/entries/{entry['id']}" for entry in job["entries"])
    assert (await alice.get(web)).body["cors_origins"] == ["https://a.example"]
    changed = await alice.patch(web, {"cors_origins": ["http://localhost:3000"]})
    assert (changed.status, changed.body["cors_origins"], changed.body["pending"]) == (
        200,
        ["http://localhost:3000"],
        [],
    )
    assert (await alice.patch(web, {"cors_origins": []})).body["cors_origins"] == []
    for path, origins in ((web, ["*"]), (ssh, ["https://a.example"])):
        refused = await alice.patch(path, {"cors_origins": origins})
        assert (refused.status, set(refused.body["fields"])) == (422, {"cors_origins"})
    assert (await bob.patch(web, {"cors_origins": []})).status in (403, 404)
    await alice.post(f"/jobs/{job['id']}/close")
    await desk.move(job["id"], State.FINISHED)
    assert (await alice.patch(web, {"cors_origins": []})).code == "job_ended"


async def test_the_owner_sets_limits_at_the_start_and_later(both_desks: Desk) -> None:
    """They replace each other as a whole; requests and bodies are counted at web entries only."""
    alice, bob = await both_desks.person("alice"), await both_desks.person("bob")
    job = await both_desks.running_job(alice, entries=[WEB | {"limits": {"connections": 5, "body_bytes": None}}])
    web, ssh = (f"/entries/{entry['id']}" for entry in job["entries"])
    none: dict[str, Any] = {"connections": None, "requests_per_minute": None, "body_bytes": None}
    assert (await alice.get(web)).body["limits"] == none | {"connections": 5}
    assert (await alice.get(ssh)).body["limits"] == none
    changed = await alice.patch(web, {"limits": {"requests_per_minute": 60, "body_bytes": 1000}})
    assert (changed.status, changed.body["limits"], changed.body["pending"]) == (
        200,
        none | {"requests_per_minute": 60, "body_bytes": 1000},
        [],
    )
    assert (await alice.patch(ssh, {"limits": {"connections": 3}})).body["limits"] == none | {"connections": 3}
    refused = await alice.patch(ssh, {"limits": {"requests_per_minute": 3}})
    assert (refused.status, set(refused.body["fields"])) == (422, {"limits.requests_per_minute"})
    assert (await alice.patch(web, {"limits": {}})).body["limits"] == none
    assert (await bob.patch(web, {"limits": {}})).status in (403, 404)
    await alice.post(f"/jobs/{job['id']}/close")
    await both_desks.move(job["id"], State.FINISHED)
    assert (await alice.patch(web, {"limits": {}})).code == "job_ended"


async def test_the_owner_names_the_certificate_that_an_https_app_must_show(both_desks: Desk) -> None:
    """In any spelling; null takes it away again; nothing else shows a certificate."""
    alice = await both_desks.person("alice")
    secure = WEB | {"app_protocol": "https", "app_pin": "SHA256 Fingerprint=" + ":".join(["AB"] * 32)}
    job = await both_desks.running_job(alice, entries=[secure, WEB | {"name": "plain", "target_port": 8001}])
    pinned, plain = (f"/entries/{entry['id']}" for entry in job["entries"][:2])
    assert (await alice.get(pinned)).body["app_pin"] == "ab" * 32
    assert (await alice.patch(pinned, {"app_pin": "CD" * 32})).body["app_pin"] == "cd" * 32
    assert (await alice.patch(pinned, {"level": "login"})).body["app_pin"] == "cd" * 32
    assert (await alice.patch(pinned, {"app_pin": None})).body["app_pin"] is None
    for path, pin in ((pinned, "cd"), (plain, "cd" * 32)):
        refused = await alice.patch(path, {"app_pin": pin})
        assert (refused.status, set(refused.body["fields"])) == (422, {"app_pin"})
    assert (await alice.patch(plain, {})).status == 422
