"""http entries of a real job, as curl and programs meet them: levels, tokens, share codes, withdrawal."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import Answer, Person, Product, eventually, request

APP = (Path(__file__).with_name("app.py")).read_text()
PATTERN = bytes(range(256)) * 4096


@pytest.fixture(scope="module")
def job(alice: Person) -> dict[str, Any]:
    """Alice's app with an entry of each level onto it, listening."""
    entries = [
        {"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"},
    ]
    job = alice.run(["python3", "-c", APP], name="app", entries=entries)
    eventually(lambda: b"serving" in alice.logs(job["id"]), what="the app serving")
    return job


@pytest.fixture
def entry(alice: Person, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The job's web entry, private again after each test."""
    entry = alice.entry(job, "web")
    yield entry
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "private"})
    alice.call("DELETE", f"/entries/{entry['id']}/share")


def visit(product: Product, entry: dict[str, Any], path: str = "/", *, token: str = "", **headers: str) -> Answer:
    """One GET of the entry on the http port, by its own host name."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    if token:
        sent["X-Starlight-Token"] = token
    port = product.ports["HTTP"]
    return request(port, "GET", path, host=f"{entry['host']}:{port}", headers=sent)


def test_an_open_entry_returns_the_apps_bytes_unchanged(product: Product, alice: Person, entry: dict[str, Any]) -> None:
    """curl of an open entry gets every byte value back as the app sent it."""
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "open"})
    port = product.ports["HTTP"]
    url = f"http://{entry['host']}:{port}/bytes"
    resolve = f"{entry['host']}:{port}:127.0.0.1"
    done = subprocess.run(["curl", "-sS", "--resolve", resolve, url], capture_output=True, check=True, timeout=30)
    assert done.stdout == PATTERN


def test_a_login_entry_without_a_session_is_401_with_a_link(
    product: Product, alice: Person, bob: Person, entry: dict[str, Any]
) -> None:
    """A program gets 401 and where to sign in, never a redirect loop; any signed-in user's token passes."""
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "login"})
    refused = visit(product, entry)
    assert refused.status == 401
    assert refused.headers["X-Starlight-Reason"] == "sign_in"
    assert refused.json["login_url"].startswith("http://")
    assert visit(product, entry, token=bob.token).body == b"hello from the job"


def test_a_private_entry_is_its_owners_alone(
    product: Product, alice: Person, bob: Person, entry: dict[str, Any]
) -> None:
    """The owner's token passes; another user's is 403 with the reason; the admin has no special right."""
    assert visit(product, entry, token=alice.token).status == 200
    refused = visit(product, entry, token=bob.token)
    assert (refused.status, refused.headers["X-Starlight-Reason"]) == (403, "entry_forbidden")
    assert visit(product, entry, token=product.admin().token).status == 403


def test_the_gateways_token_and_cookies_never_reach_the_app(
    product: Product, alice: Person, entry: dict[str, Any]
) -> None:
    """The head that the app saw holds the app's own cookies and Authorization, and nothing of the gateway's."""
    seen = visit(
        product,
        entry,
        "/head",
        token=alice.token,
        Cookie="theme=dark; starlight_entry=forged; sid=abc",
        Authorization="Bearer the-apps-own",
    ).body
    assert alice.token.encode() not in seen
    assert b"starlight_entry" not in seen
    assert b"theme=dark" in seen
    assert b"sid=abc" in seen
    assert b"Authorization: Bearer the-apps-own" in seen


def test_a_share_code_lets_in_and_cancelling_cuts_within_a_second(
    product: Product, alice: Person, bob: Person, entry: dict[str, Any]
) -> None:
    """Bob redeems, opens a tunnel, and is cut at his own socket within 1 s of Alice's cancel; Alice's own lives on."""
    share = alice.call("PUT", f"/entries/{entry['id']}/share", {})
    assert visit(product, entry, token=bob.token).status == 403
    assert bob.call("POST", "/shares/redeem", {"code": share["code"]})["entry"]["label"] == entry["label"]
    eventually(lambda: visit(product, entry, token=bob.token).status == 200, within_s=5, what="bob admitted")
    with tunnel(product, entry, alice) as own, tunnel(product, entry, bob) as shared:
        assert echo(own) and echo(shared)
        started = time.monotonic()
        alice.call("DELETE", f"/entries/{entry['id']}/share")
        shared.settimeout(2)
        assert gone(shared)
        assert time.monotonic() - started < 1.0 + 0.2
        assert echo(own)
    assert visit(product, entry, token=bob.token).status == 403


def test_raising_the_level_cuts_those_who_came_by_it(product: Product, alice: Person, entry: dict[str, Any]) -> None:
    """A visit that rested on the open level ends when the owner makes the entry private."""
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "open"})
    with tunnel(product, entry, None) as anonymous:
        assert echo(anonymous)
        alice.call("PATCH", f"/entries/{entry['id']}", {"level": "private"})
        anonymous.settimeout(2)
        assert gone(anonymous)


def test_unknown_hosts_and_ended_jobs_have_their_own_answers(product: Product, alice: Person) -> None:
    """A host nobody has is 404 unknown_host; an ended job says so, and a silent one that nothing listens yet."""
    port = product.ports["HTTP"]
    unknown = request(port, "GET", "/", host=f"{'0' * 32}.proxy.localhost:{port}")
    assert (unknown.status, unknown.headers["X-Starlight-Reason"]) == (404, "unknown_host")
    entries = [{"name": "web", "protocol": "http", "level": "private", "target_port": 7777, "port": "fixed"}]
    job = alice.run(["sleep", "600"], name="silent", entries=entries)
    entry = alice.entry(job, "web")
    assert visit(product, entry, token=alice.token).headers["X-Starlight-Reason"] == "not_listening"
    alice.call("POST", f"/jobs/{job['id']}/close")
    alice.wait(job["id"], "cancelled")
    eventually(
        lambda: visit(product, entry, token=alice.token).headers["X-Starlight-Reason"] == "job_ended",
        within_s=5,
        what="job_ended told",
    )


def test_a_random_port_entry_has_its_own_port_and_host(product: Product, alice: Person, job: dict[str, Any]) -> None:
    """A random port lies in 32768-65535 and serves the entry's host only."""
    made = alice.call(
        "POST",
        f"/jobs/{job['id']}/entries",
        {"name": "far", "protocol": "http", "level": "open", "target_port": 9, "port": "random"},
    )
    try:
        assert 32768 <= made["port"] <= 65535
        eventually(
            lambda: request(made["port"], "GET", "/", host=f"{made['host']}:{made['port']}").status == 502,
            within_s=5,
            what="the random port served",
        )
    finally:
        alice.call("DELETE", f"/entries/{made['id']}")


@contextmanager
def tunnel(product: Product, entry: dict[str, Any], person: Person | None) -> Iterator[socket.socket]:
    """An upgraded connection to the app, which echoes."""
    port = product.ports["HTTP"]
    token = f"X-Starlight-Token: {person.token}\r\n" if person else ""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(
            f"GET /tunnel HTTP/1.1\r\nHost: {entry['host']}:{port}\r\n{token}"
            "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            received = sock.recv(65536)
            assert received, head
            head += received
        assert head.startswith(b"HTTP/1.1 101"), head
        yield sock


def echo(sock: socket.socket) -> bool:
    """Whether a message comes back through the tunnel."""
    sock.sendall(b"ping")
    return sock.recv(4) == b"ping"


def gone(sock: socket.socket) -> bool:
    """Whether the peer has ended the connection, in either way TCP knows."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
