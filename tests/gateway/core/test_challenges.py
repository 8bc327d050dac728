"""Which looks of a certificate authority are answered: those at an open challenge of that very domain."""

from __future__ import annotations

import pytest

from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.contract.codec import Change
from gateway.core.challenges import ACME_TLS, http_answer, is_validation, tls_challenge
from gateway.core.hello import Hello
from gateway.core.http1 import parse_request
from tests.gateway import world

LAB = Challenge("lab.example.org", ChallengeKind.HTTP, "tok-1", "tok-1.thumb")
SHOP = Challenge("shop.example.org", ChallengeKind.TLS, "tok-2", "tok-2.thumb")
PATH = "/.well-known/acme-challenge/"


@pytest.mark.parametrize(
    ("method", "host", "target", "said"),
    [
        ("GET", "lab.example.org", PATH + "tok-1", b"tok-1.thumb"),
        ("GET", "LAB.Example.org:80", PATH + "tok-1", b"tok-1.thumb"),
        ("HEAD", "lab.example.org", PATH + "tok-1", b"tok-1.thumb"),
        ("POST", "lab.example.org", PATH + "tok-1", None),
        ("GET", "lab.example.org", PATH + "tok-2", None),
        ("GET", "lab.example.org", PATH + "tok-1/", None),
        ("GET", "lab.example.org", PATH, None),
        ("GET", "lab.example.org", "/", None),
        ("GET", "www.example.org", PATH + "tok-1", None),
        ("GET", "shop.example.org", PATH + "tok-2", None),
    ],
)
def test_a_path_is_answered_for_its_own_domain_only(method: str, host: str, target: str, said: bytes | None) -> None:
    """RFC 8555 section 8.3; a TLS challenge is not told over HTTP."""
    head = parse_request(f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert http_answer(world.table(LAB, SHOP), head) == said


@pytest.mark.parametrize(
    ("name", "alpn", "found"),
    [
        ("shop.example.org", (ACME_TLS.encode(),), SHOP),
        ("lab.example.org", (ACME_TLS.encode(),), None),
        ("www.example.org", (ACME_TLS.encode(),), None),
        (None, (ACME_TLS.encode(),), None),
        ("shop.example.org", (b"http/1.1",), None),
        ("shop.example.org", (ACME_TLS.encode(), b"http/1.1"), None),
        ("shop.example.org", (), None),
    ],
)
def test_a_handshake_is_a_validation_by_its_one_protocol(
    name: str | None, alpn: tuple[bytes, ...], found: Challenge | None
) -> None:
    """RFC 8737 section 3: the authority offers acme-tls/1 alone."""
    hello = Hello(name, alpn)
    assert tls_challenge(world.table(LAB, SHOP), hello) == found
    assert is_validation(hello) == (alpn == (ACME_TLS.encode(),))


def test_a_challenge_that_is_over_is_not_answered() -> None:
    """Control takes the record away once the authority has looked."""
    table = world.table(LAB)
    assert table.challenge("lab.example.org") == LAB
    table.apply(Change(2, "challenge", LAB.id, None))
    assert table.challenge("lab.example.org") is None
