"""Client certificates: what they say, how long they last, and whom OpenSSL takes them for."""

from __future__ import annotations

import hashlib
import ssl
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from certs.client_ca import CLIENT_LIFE, issue_client, make_client_authority, outlasts
from control.clock import utcnow

NOW = utcnow().replace(microsecond=0)
LABEL = "0123456789abcdef" * 2


def test_a_certificate_names_its_person_and_its_entry() -> None:
    """The subject is the person, the entry stands beside it; the fingerprint is that of the DER bytes."""
    made = issue_client(make_client_authority(now=NOW), user="alice", entry=LABEL, now=NOW)
    read = x509.load_pem_x509_certificate(made.certificate_pem.encode())
    assert read.subject.rfc4514_string() == "CN=alice"
    names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [f"urn:starlight:entry:{LABEL}"]
    der = ssl.PEM_cert_to_DER_cert(made.certificate_pem)
    assert made.fingerprint == hashlib.sha256(der).hexdigest()
    assert made.serial == f"{read.serial_number:x}"
    assert made.not_after == NOW + CLIENT_LIFE


def test_two_certificates_share_nothing() -> None:
    """Neither key nor serial nor fingerprint: one can be withdrawn without the other."""
    authority = make_client_authority(now=NOW)
    one, other = (issue_client(authority, user="alice", entry=LABEL, now=NOW) for _ in range(2))
    assert one.key_pem != other.key_pem
    assert one.serial != other.serial
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(("purpose", "good"), [("sslclient", True), ("sslserver", False)])
def test_openssl_takes_it_for_a_client_and_for_no_server(tmp_path: Path, purpose: str, good: bool) -> None:
    """The authority can vouch for nobody's web site."""
    authority = make_client_authority(now=NOW)
    made = issue_client(authority, user="alice", entry=LABEL, now=NOW)
    (tmp_path / "ca.pem").write_text(authority.certificate_pem)
    (tmp_path / "client.pem").write_text(made.certificate_pem)
    checked = subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", purpose, "-CAfile", "ca.pem", "client.pem"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (checked.returncode == 0) is good, checked.stderr


def test_an_authority_near_its_end_makes_room_for_another() -> None:
    """None signs what would outlive it; what it signs on its last days ends with it."""
    authority = make_client_authority(now=NOW)
    late = NOW + timedelta(days=3650) - timedelta(days=10)
    assert outlasts(authority.certificate_pem, now=NOW)
    assert not outlasts(authority.certificate_pem, now=late)
    assert issue_client(authority, user="a", entry=LABEL, now=late).not_after == late + timedelta(days=10)


def test_a_key_is_not_shown_by_accident() -> None:
    """A log line of the whole value holds no key."""
    assert "PRIVATE" not in repr(issue_client(make_client_authority(now=NOW), user="a", entry=LABEL, now=NOW))
