"""Certificates by ACME on the running product, from Let's Encrypt's test authority: given, renewed, and survived."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.pebble import Pebble, pebble
from tests.system.product import Person, Product, eventually, free_ports

SERVER = ["python3", "-c", "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')"]


@contextmanager
def platform(folder: Path, **options: Any) -> Iterator[tuple[Product, Pebble]]:
    """A product and its authority, which looks at two ports that are bound for it alone."""
    http_port, tls_port = free_ports(40)[38:]
    with pebble(folder / "pebble", http_port=http_port, tls_port=tls_port, **options) as authority:
        told = {
            "ACME_DIRECTORY": authority.directory,
            "ACME_TERMS_AGREED": "1",
            "ACME_CONTACT": "ops@example.org",
            "ACME_CA_BUNDLE": str(authority.bundle),
            "ACME_HTTP_PORT": str(http_port),
            "ACME_TLS_PORT": str(tls_port),
            "NAME_SERVERS": authority.name_server,
            "PUBLIC_ADDRESS": "127.0.0.1",
        }
        product = Product(folder / "var", {f"STARLIGHT_{name}": value for name, value in told.items()})
        try:
            product.start()
            yield product, authority
        finally:
            product.stop()


def ask(person: Person, job: dict[str, Any], number: int, method: str) -> dict[str, Any]:
    """An entry whose certificate an authority is asked for."""
    spec = {"name": f"w{number}", "protocol": "https", "level": "open", "target_port": 8000 + number}
    domain = {"domain": f"w{number}.example.org", "acme": True, "acme_challenge": method}
    entry: dict[str, Any] = person.call("POST", f"/jobs/{job['id']}/entries", spec | domain)
    return entry


def shown(product: Product, name: str, authority: Pebble) -> bytes:
    """The certificate in a handshake that trusts the authority's root; the app has to answer 200."""
    context = ssl.create_default_context(cadata=authority.root())
    port = product.ports["HTTPS"]
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        connection = http.client.HTTPConnection(name, port)
        connection.sock = sock
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        return sock.getpeercert(binary_form=True) or b""


def state(person: Person, entry: dict[str, Any]) -> dict[str, Any]:
    """How far its certificate is."""
    found: dict[str, Any] = person.call("GET", f"/entries/{entry['id']}")["domain_state"]["acme"]
    return found


def by_hand(person: Person, authority: Pebble, entry: dict[str, Any]) -> None:
    """The person's part in dns-01: the record, and the word that it stands."""

    def wanted() -> dict[str, Any] | None:
        now = state(person, entry)
        return now if now["stage"] == "by_hand" else None

    record = eventually(wanted, what="a record to set")
    person.call("POST", f"/entries/{entry['id']}/domain/continue", expect=409)
    authority.set_record(record["txt_name"], record["txt_value"])
    person.call("POST", f"/entries/{entry['id']}/domain/continue")


def test_each_way_of_looking_gives_a_certificate(tmp_path: Path) -> None:
    """Over HTTP, in a handshake, by a record: browsers that trust the authority are served under the domain."""
    with platform(tmp_path) as (product, authority):
        alice = product.person("alice")
        job = alice.run(SERVER)
        made = [ask(alice, job, number, method) for number, method in enumerate(("http-01", "tls-alpn-01", "dns-01"))]
        by_hand(alice, authority, made[2])
        for entry in made:
            eventually(lambda entry=entry: alice.call("GET", f"/entries/{entry['id']}")["active"], what="active")
        assert {alice.call("GET", f"/entries/{entry['id']}")["domain_state"]["proof"] for entry in made} == {"acme"}
        assert shown(product, "w0.example.org", authority)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_control_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    """Again and again while four orders are under way, with an authority that takes its time and refuses nonces."""
    with platform(tmp_path, nonces_refused=15, slow_looks=True) as (product, _):
        alice = product.person("alice")
        job = alice.run(SERVER)
        made = [ask(alice, job, number, "http-01" if number % 2 else "tls-alpn-01") for number in range(4)]

        def all_active() -> bool:
            return all(alice.call("GET", f"/entries/{entry['id']}")["active"] for entry in made)

        for _ in range(5):
            eventually(lambda: product.pid("control") and product.healthy(), within_s=90, what="control serves")
            if all_active():
                break
            product.kill("control")
        eventually(product.healthy, within_s=90, what="control serves")
        eventually(all_active, within_s=180, what="all four given")
        events = alice.call("GET", f"/jobs/{job['id']}/status")["events"]
        assert [event["reason"] for event in events].count("CertificateIssued") == 4


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_certificate_that_lives_short_is_renewed_under_way(tmp_path: Path) -> None:
    """At two thirds of its life, while visits go on; a neighbour whose domain leads nowhere is refused on its own."""
    with platform(tmp_path, validity_s=36) as (product, authority):
        alice, bob = product.person("alice"), product.person("bob")
        job, theirs = alice.run(SERVER), bob.run(SERVER)
        entry = ask(alice, job, 0, "http-01")
        authority.set_address("w1.example.org", "127.0.0.2")
        bad = ask(bob, theirs, 1, "tls-alpn-01")
        eventually(lambda: alice.call("GET", f"/entries/{entry['id']}")["active"], what="active")
        first = shown(product, "w0.example.org", authority)
        eventually(lambda: state(bob, bad)["stage"] == "failed", what="the neighbour refused")
        assert "127.0.0.2" in state(bob, bad)["complaint"]

        def renewed() -> bool:
            return shown(product, "w0.example.org", authority) != first

        eventually(renewed, within_s=60, what="another certificate, with no visit refused meanwhile")
        assert state(alice, entry)["complaint"] is None
