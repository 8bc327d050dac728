"""The local authority: what it signs is accepted by real TLS stacks, and nothing else can be signed with it."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.local_ca import LEAF_LIFE, RENEW_BEFORE, Authority, can_sign, issue, make_authority, needs_issue
from control.clock import utcnow

NAMES = ("proxy.localhost", "*.proxy.localhost", "console.localhost")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def today() -> datetime:
    """The machine's day: real TLS stacks look at their own clock."""
    return utcnow()


@pytest.fixture(scope="module")
def authority(today: datetime) -> Authority:
    """An authority for NAMES."""
    return make_authority(NAMES, now=today)


def handshake(authority: Authority, chain_pem: str, key_pem: str, server_name: str, folder: Path) -> dict[str, object]:
    """A TLS handshake over a real socket pair by a client that trusts the authority; the certificate it saw."""
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_text(chain_pem)
    key.write_text(key_pem)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, key)
    client = ssl.create_default_context(cadata=authority.certificate_pem)
    near, far = socket.socketpair()
    near.settimeout(10)
    far.settimeout(10)

    def answer() -> None:
        try:
            with server.wrap_socket(far, server_side=True) as accepted:
                accepted.recv(1)
        except OSError:  # a refused handshake is one as well
            far.close()

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        with near, client.wrap_socket(near, server_hostname=server_name) as secured:
            seen = secured.getpeercert()
            assert seen is not None
            return dict(seen)
    finally:
        near.close()
        answering.join(10)


@pytest.mark.parametrize(
    "server_name", ["proxy.localhost", "0123456789abcdef0123456789abcdef.proxy.localhost", "console.localhost"]
)
def test_a_client_that_trusts_the_authority_accepts_every_name(
    authority: Authority, today: datetime, server_name: str, tmp_path: Path
) -> None:
    """Base domain, any entry below it and the console pass a default-strict handshake."""
    issued = issue(authority, NAMES, now=today)
    seen = handshake(authority, issued.chain_pem, issued.key_pem, server_name, tmp_path)
    assert ("DNS", "*.proxy.localhost") in seen["subjectAltName"]  # type: ignore[operator]  # typeshed: object


def test_openssl_accepts_the_chain_strictly(authority: Authority, today: datetime, tmp_path: Path) -> None:
    """OpenSSL's own strict check of the chain, for its purpose and a host below the base domain."""
    (tmp_path / "ca.pem").write_text(authority.certificate_pem)
    (tmp_path / "leaf.pem").write_text(issue(authority, NAMES, now=today).chain_pem)
    command = ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "a.proxy.localhost"]
    done = subprocess.run(
        [*command, "-CAfile", tmp_path / "ca.pem", tmp_path / "leaf.pem"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_stolen_authority_cannot_pass_for_another_site(authority: Authority, today: datetime, tmp_path: Path) -> None:
    """Name constraints bind whoever holds the key: a certificate made by hand for another name is not accepted."""
    key = ec.generate_private_key(ec.SECP256R1())
    forged_pem = forge(authority, key, "bank.example", today)
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree"):
        handshake(authority, forged_pem, key_pem, "bank.example", tmp_path)


def forge(authority: Authority, key: ec.EllipticCurvePrivateKey, name: str, today: datetime) -> str:
    """A certificate signed with the authority's key past our own code."""
    signer = x509.load_pem_x509_certificate(authority.certificate_pem.encode())
    signing_key = serialization.load_pem_private_key(authority.key_pem.encode(), None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(hours=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=True)
    )
    return builder.sign(signing_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize("name", ["bank.example", "localhost", "notproxy.localhost", "*.localhost"])
def test_issue_refuses_a_name_outside_the_constraints(authority: Authority, name: str) -> None:
    """What no client would accept is not made."""
    assert not can_sign(authority, [name])
    with pytest.raises(ValueError, match="may not sign"):
        issue(authority, [name], now=NOW)


def test_a_leaf_is_renewed_in_time() -> None:
    """A fresh certificate is kept; one that ends within 30 days, or has ended, is made anew."""
    authority = make_authority(NAMES, now=NOW)
    issued = issue(authority, NAMES, now=NOW)
    due = NOW + LEAF_LIFE - RENEW_BEFORE
    kept = (authority, issued.chain_pem, issued.key_pem, NAMES)
    assert issued.not_after == NOW + LEAF_LIFE
    assert not needs_issue(*kept, now=NOW)
    assert not needs_issue(*kept, now=due)
    assert needs_issue(*kept, now=due + timedelta(seconds=1))
    assert needs_issue(*kept, now=issued.not_after + timedelta(days=1))


def test_a_leaf_is_renewed_when_names_or_authority_change() -> None:
    """Another base domain, another authority, or a torn file: made anew."""
    authority = make_authority(NAMES, now=NOW)
    issued = issue(authority, NAMES, now=NOW)
    assert needs_issue(authority, issued.chain_pem, issued.key_pem, NAMES[:2], now=NOW)
    assert needs_issue(make_authority(NAMES, now=NOW), issued.chain_pem, issued.key_pem, NAMES, now=NOW)
    assert needs_issue(authority, "", "", NAMES, now=NOW)
    assert needs_issue(authority, issued.chain_pem, issued.key_pem[:40], NAMES, now=NOW)


def test_private_keys_are_not_printed() -> None:
    """A log line that holds an authority or a certificate shows no key."""
    authority = make_authority(NAMES, now=NOW)
    assert "PRIVATE" not in repr(authority) + repr(issue(authority, NAMES, now=NOW))
