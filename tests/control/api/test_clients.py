"""Client certificates over the API."""

from __future__ import annotations

import ssl
from pathlib import Path

from tests.control.api.desk import Caller, Desk

TCP = {"name": "db", "protocol": "tcp", "level": "private", "target_port": 5432}


async def test_a_certificate_is_issued_listed_and_withdrawn(both_desks: Desk, tmp_path: Path) -> None:
    """The key is in the first answer and nowhere else; one file holds all that a program needs."""
    alice = await both_desks.person("alice")
    job = await both_desks.running_job(alice, entries=[TCP])
    entry = job["entries"][0]
    made = await alice.post(f"/entries/{entry['id']}/client-certificate")
    assert made.status == 201, made.body
    bundle = made.body
    assert (bundle["user"], bundle["entry_id"]) == ("alice", entry["id"])
    assert bundle["pem"] == bundle["certificate"] + bundle["private_key"] + bundle["authority"]
    assert bundle["file_name"] == f"{entry['label'][:8]}.pem"
    (tmp_path / "all.pem").write_text(bundle["pem"])
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(tmp_path / "all.pem")
    listed = (await alice.get(f"/entries/{entry['label']}/client-certificates")).body
    assert listed["total"] == 1
    assert listed["items"][0] == {name: bundle[name] for name in listed["items"][0]}
    assert "private_key" not in listed["items"][0]
    gone = await alice.delete(f"/client-certificates/{bundle['id']}")
    assert (gone.status, gone.body) == (200, {"pending": [], "stops_by": None})
    assert (await alice.get(f"/entries/{entry['id']}/client-certificates")).body["total"] == 0


async def test_an_entry_without_use_for_one_says_so(desk: Desk, alice: Caller) -> None:
    """409 with a sentence, in the caller's language."""
    job = await desk.running_job(alice, entries=[TCP | {"level": "open"}])
    refused = await alice.post(f"/entries/{job['entries'][0]['id']}/client-certificate")
    assert (refused.status, refused.code) == (409, "no_client_certificate")
