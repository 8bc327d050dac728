"""Entries' own domains on the running product: real handshakes by name, and one bad pair that harms nobody."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest

from control.clock import utcnow
from tests.certs.authority import Authority, Signer
from tests.system.product import Person, Product, eventually

SERVER = ["python3", "-c", "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')"]
CA = Authority(utcnow())


def spec(domain: str, leaf: Signer) -> dict[str, Any]:
    """An open https entry under `domain`."""
    pair = {"certificate": CA.root.pem + leaf.pem + CA.intermediate.pem, "private_key": leaf.key_pem()}
    return {"name": "web", "protocol": "https", "level": "open", "target_port": 8000, "domain": domain} | pair


def visit(product: Product, name: str, *, host: str | None = None, root: Signer = CA.root) -> tuple[int, bytes]:
    """One GET over a handshake for `name`: the status, and the certificate that was shown."""
    context = ssl.create_default_context(cadata=root.pem)
    port = product.ports["HTTPS"]
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname=name) as sock,
    ):
        sock.sendall(f"GET / HTTP/1.1\r\nHost: {host or name}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return int(answer.split()[1]), sock.getpeercert(binary_form=True) or b""


@pytest.fixture
def served(product: Product, alice: Person) -> dict[str, Any]:
    """Alice's job with an entry under a domain that an administrator confirmed."""
    job = alice.wait(alice.submit(SERVER, entries=[spec("a.example.org", CA.leaf("a.example.org"))])["id"], "running")
    entry = alice.entry(job, "web")
    assert not entry["active"]
    assert entry["domain_state"]["txt_value"] in entry["message"]
    with pytest.raises(ssl.SSLCertVerificationError):
        visit(product, "a.example.org")  # not served before it is proved
    product.admin().call("POST", f"/entries/{entry['id']}/domain/approve")
    eventually(lambda: alice.entry(job, "web")["active"], what="the entry active")
    eventually(lambda: visit(product, "a.example.org")[0] == 200, what="the app served under its domain")
    return job


def test_a_domain_from_upload_to_release(product: Product, alice: Person, bob: Person, served: dict[str, Any]) -> None:
    """Names must agree, a bad pair changes nothing, a good one counts at once, a neighbour's trouble harms nobody, and
    the domain is free when its job has ended."""
    entry = alice.entry(served, "web")
    _, first = visit(product, "a.example.org")
    assert visit(product, "a.example.org", host="b.example.org")[0] == 421
    bad = {"certificate": CA.leaf("a.example.org").pem + CA.intermediate.pem + CA.root.pem}
    bad["private_key"] = CA.leaf("a.example.org").key_pem()
    refused = alice.call("PATCH", f"/entries/{entry['id']}", bad, expect=422)
    assert set(refused["fields"]) == {"private_key"}
    assert visit(product, "a.example.org") == (200, first)
    # Bob's certificate holds alice's name too: it answers for his own domain only.
    both = CA.leaf("b.example.org", "a.example.org")
    theirs = bob.wait(bob.submit(SERVER, entries=[spec("b.example.org", both)])["id"], "running")
    product.admin().call("POST", f"/entries/{bob.entry(theirs, 'web')['id']}/domain/approve")
    eventually(lambda: bob.entry(theirs, "web")["active"], what="bob's entry active")
    assert visit(product, "a.example.org") == (200, first)
    taken = spec("a.example.org", both) | {"name": "two", "target_port": 8001}
    bob.call("POST", f"/jobs/{theirs['id']}/entries", taken, expect=409)
    renewed = CA.leaf("a.example.org", days=300)
    pair = {"certificate": renewed.pem + CA.intermediate.pem + CA.root.pem, "private_key": renewed.key_pem()}
    alice.call("PATCH", f"/entries/{entry['id']}", pair)
    eventually(lambda: visit(product, "a.example.org")[1] != first, within_s=5, what="the new certificate shown")
    product.kill("web-0")
    eventually(lambda: _status(product) == 200, what="the domain served by the next gateway process")
    alice.call("POST", f"/jobs/{served['id']}/close")
    alice.wait(served["id"], "cancelled", "finished", "failed", "abnormal_exit")
    assert bob.call("POST", f"/jobs/{theirs['id']}/entries", taken)["domain"] == "a.example.org"


def _status(product: Product) -> int:
    try:
        return visit(product, "a.example.org")[0]
    except OSError:
        return 0
