"""Who is connected, cutting one, what is counted and logged, and what the app learns: in the real product."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import closing
from typing import Any

import jwt
import pytest

from tests.system.product import Person, Product, eventually, request
from tests.system.test_http_entries import APP, echo, gone, tunnel, visit


@pytest.fixture(scope="module")
def job(alice: Person) -> dict[str, Any]:
    """Alice's app, which pages of one other site may call."""
    entries = [
        {"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "cors_origins": ["https://a.b"]},
    ]
    job = alice.run(["python3", "-c", APP], name="visited", entries=entries)
    eventually(lambda: b"serving" in alice.logs(job["id"]), what="the app serving")
    return job


@pytest.fixture
def entry(alice: Person, job: dict[str, Any]) -> dict[str, Any]:
    """The job's web entry."""
    return alice.entry(job, "web")


def visits(person: Person, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The live connections of an entry."""
    found: list[dict[str, Any]] = person.call("GET", f"/entries/{entry['id']}/visits")["items"]
    return found


def test_the_owner_sees_a_connection_and_cuts_it(product: Product, alice: Person, entry: dict[str, Any]) -> None:
    """Within two seconds it is listed with its bytes; within one it is cut, and the list is empty again."""
    with tunnel(product, entry, alice) as sock:
        assert echo(sock)
        (seen,) = eventually(lambda: visits(alice, entry), within_s=5, what="the visit listed")
        assert (seen["user"]["username"], seen["address"], seen["protocol"]) == ("alice", "127.0.0.1", "http")
        moved = eventually(
            lambda: next((one for one in visits(alice, entry) if one["bytes_out"] >= 4), None), what="its bytes"
        )
        assert moved["id"] == seen["id"]
        started = time.monotonic()
        assert alice.call("DELETE", f"/visits/{seen['id']}")["pending"] == []
        assert time.monotonic() - started < 1.0
        assert gone(sock)
        assert visits(alice, entry) == []
    alice.call("DELETE", f"/visits/{seen['id']}", expect=404)


def test_connections_outlive_control_and_are_listed_again(
    product: Product, alice: Person, entry: dict[str, Any]
) -> None:
    """The list is a level: a new control process is told all of it."""
    with tunnel(product, entry, alice) as sock:
        assert eventually(lambda: visits(alice, entry), within_s=5, what="the visit listed")
        product.kill("control")
        eventually(product.healthy, within_s=30, what="control back")
        assert eventually(lambda: visits(alice, entry), within_s=10, what="the visit listed again")
        assert echo(sock)


def test_ssh_is_listed_and_cut_alike(product: Product, alice: Person, job: dict[str, Any], tmp_path: Any) -> None:
    """A shell's command stands in the list of the job's ssh entry."""
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    alice.call("POST", "/me/keys", {"name": "k", "public_key": key.with_suffix(".pub").read_text()})
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
    port = str(product.ports["SSH"])
    line = ["ssh", "-F", "none", "-i", key, *options, "-p", port, f"alice+{job['id']}@127.0.0.1", "sleep 60"]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as ssh:
        door = alice.entry(job, "ssh-default")
        (seen,) = eventually(lambda: visits(alice, door), within_s=10, what="the ssh visit listed")
        assert seen["gateway"].startswith("ssh-")
        assert alice.call("DELETE", f"/visits/{seen['id']}")["pending"] == []
        assert ssh.wait(timeout=5) != 0
        assert b"ended this connection" in ssh.communicate()[1] or ssh.returncode


def test_plain_tcp_is_listed_and_cut_alike(product: Product, alice: Person) -> None:
    """Nobody signed in there: the visit has an address and no name."""
    waits = "import socket\ns = socket.create_server(('', 20999))\nprint('serving', flush=True)\n"
    waits += "while True:\n c = s.accept()[0]\n c.sendall(b'hello')\n c.recv(1)"
    raw = {"name": "raw", "protocol": "tcp", "level": "open", "target_port": 20999, "port": "random"}
    job = alice.run(["python3", "-c", waits], name="raw", entries=[raw])
    eventually(lambda: b"serving" in alice.logs(job["id"]), what="the app serving")
    entry = alice.entry(job, "raw")
    with closing(socket.create_connection(("127.0.0.1", entry["port"]), timeout=10)) as sock:
        assert sock.recv(5) == b"hello"
        (seen,) = eventually(lambda: visits(alice, entry), within_s=5, what="the visit listed")
        assert (seen["user"], seen["protocol"], seen["address"]) == (None, "tcp", "127.0.0.1")
        assert alice.call("DELETE", f"/visits/{seen['id']}")["pending"] == []
        assert gone(sock)


def test_the_app_verifies_who_comes(product: Product, alice: Person, entry: dict[str, Any]) -> None:
    """With the keys that the entry publishes to anybody."""
    head = visit(product, entry, "/head", token=alice.token, X_Starlight_User="root").body.decode()
    lines = dict(line.split(": ", 1) for line in head.split("\r\n") if ": " in line)
    assert lines["X-Starlight-User"] == "alice"
    keys = visit(product, entry, "/.starlight/jwks.json")
    assert keys.status == 200
    key = jwt.PyJWKSet.from_dict(keys.json).keys[0]
    console = f"http://127.0.0.1:{product.ports['CONSOLE']}"
    claims = jwt.decode(
        lines["X-Starlight-Identity"], key, algorithms=["ES256"], audience=entry["host"], issuer=console
    )
    assert claims["name"] == "alice"
    assert request(product.ports["CONSOLE"], "GET", "/.starlight/jwks.json").json == keys.json


def test_refusals_can_be_read_by_pages_that_the_owner_named(product: Product, entry: dict[str, Any]) -> None:
    """And by no other."""
    refused = visit(product, entry, Origin="https://a.b")
    assert (refused.status, refused.headers["Access-Control-Allow-Origin"]) == (401, "https://a.b")
    assert visit(product, entry, Origin="https://c.d").headers["Access-Control-Allow-Origin"] is None


def test_what_happened_is_counted_and_logged(product: Product, alice: Person, entry: dict[str, Any]) -> None:
    """The scraper's token reads the counts of every process; the access log has a line for each visit."""
    token = (product.data / "control" / "metrics-token").read_text().strip()

    def counted() -> bool:
        told = request(product.ports["CONSOLE"], "GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        return (
            told.status == 200
            and b'starlight_visits_total{process="web-' in told.body
            and b'process="ssh-0"' in told.body
            and b'starlight_refusals_total{code="sign_in"' in told.body
        )

    visit(product, entry, "/", token=alice.token)
    visit(product, entry, "/")
    eventually(counted, within_s=15, what="counts")
    assert request(product.ports["CONSOLE"], "GET", "/metrics").status == 401

    def logged() -> list[dict[str, Any]]:
        files = (product.data / "gateway" / "log").glob("access-web-*.jsonl")
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return [line for line in lines if line["entry"] == entry["id"] and line["user_name"] == "alice"]

    line = eventually(logged, within_s=10, what="lines of the access log")[-1]
    assert (line["job"], line["entry_name"], line["protocol"]) == (entry["job_id"], "web", "http")
    assert alice.token not in json.dumps(line)
