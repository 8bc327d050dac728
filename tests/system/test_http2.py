"""An https entry and the console's https door as curl meets them by HTTP/2: levels, withdrawal, another host's 421."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import Person, Product, eventually

APP = (Path(__file__).with_name("app.py")).read_text()


@pytest.fixture(scope="module")
def job(alice: Person) -> dict[str, Any]:
    """Alice's app behind a private https entry, and her web terminal behind another."""
    entries = [
        {"name": "web", "protocol": "https", "level": "private", "target_port": "auto", "port": "fixed"},
        {"name": "term", "protocol": "https", "level": "private", "service": "terminal", "port": "fixed"},
    ]
    job = alice.run(["python3", "-c", APP], name="app", entries=entries)
    eventually(lambda: b"serving" in alice.logs(job["id"]), what="the app serving")
    return job


def curl(product: Product, host: str, path: str, *options: str, named: str = "") -> subprocess.Popen[bytes]:
    """curl --http2 of a host on the https port; `named` is whom TLS asks for when it is another."""
    port = product.ports["HTTPS"]
    url = f"https://{named or host}:{port}{path}"
    known = ["--cacert", str(product.data / "ca.pem"), "--resolve", f"{named or host}:{port}:127.0.0.1"]
    said = ["-H", f"Host: {host}:{port}"] if named else []
    command = ["curl", "-sS", "-N", "--http2", "--max-time", "30", *known, *said, *options, url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def visit(product: Product, host: str, path: str, *options: str, named: str = "") -> tuple[bytes, str]:
    """The body, and how it came: HTTP's version and the status."""
    process = curl(product, host, path, "-w", "\n%{http_version} %{http_code}", *options, named=named)
    out, fault = process.communicate(timeout=40)
    body, _, how = out.rpartition(b"\n")
    assert how, fault
    return body, how.decode()


def test_an_entry_and_the_console_by_http2(product: Product, alice: Person, job: dict[str, Any]) -> None:
    """The owner passes by a token, a stranger gets 401, the console answers by its name."""
    host = alice.entry(job, "web")["host"]
    token = ["-H", f"X-Starlight-Token: {alice.token}"]
    body, how = visit(product, host, "/head", *token)
    assert how == "2 200" and b"X-Starlight-User: alice" in body and alice.token.encode() not in body
    assert visit(product, host, "/bytes", *token) == (bytes(range(256)) * 4096, "2 200")
    assert visit(product, host, "/")[1] == "2 401"
    assert visit(product, "console.localhost", "/healthz") == (b'{"ok": true}', "2 200")


def test_a_host_other_than_the_one_that_tls_asked_for(product: Product, alice: Person, job: dict[str, Any]) -> None:
    """421, though the certificate covers both and both are hers."""
    web, term = alice.entry(job, "web")["host"], alice.entry(job, "term")["host"]
    token = ["-H", f"X-Starlight-Token: {alice.token}"]
    assert visit(product, web, "/", *token, named=term)[1] == "2 421"


def test_taking_the_entry_away_cuts_a_stream_within_a_second(
    product: Product, alice: Person, job: dict[str, Any]
) -> None:
    """The transfer ends as one that broke off, never as a whole one."""
    web = alice.entry(job, "web")
    with curl(product, web["host"], "/ticks", "-H", f"X-Starlight-Token: {alice.token}") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"tick\n"
        alice.call("DELETE", f"/entries/{web['id']}")
        began = time.monotonic()
        process.communicate(timeout=10)
        assert process.returncode != 0
        assert time.monotonic() - began < 1.0 + 0.2
