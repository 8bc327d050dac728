"""What ACME asks for and gives, against the examples of its RFCs and OpenSSL's own reading."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from certs.acme import dns_record, new_key, received, request_pem, validation_pair
from certs.check import CheckFault, Trouble, check_key
from tests.certs.authority import Authority

NOW = datetime(2026, 12, 1, tzinfo=UTC)
DOMAIN = "lab.example.org"
AUTHORIZATION = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"


def test_the_record_is_that_of_the_rfc() -> None:
    """RFC 8555 section 8.4: base64url of SHA-256, without padding, below _acme-challenge."""
    name, value = dns_record(DOMAIN, AUTHORIZATION)
    assert name == "_acme-challenge.lab.example.org"
    assert len(value) == 43
    assert "=" not in value


def test_the_validation_certificate_holds_domain_and_digest() -> None:
    """RFC 8737 section 3: one name, self-signed, the digest in a critical extension, good now."""
    chain, key = validation_pair(DOMAIN, AUTHORIZATION, now=NOW)
    check_key(chain, key)
    certificate = x509.load_pem_x509_certificate(chain.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [DOMAIN]
    held = certificate.extensions.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31"))
    assert held.critical
    assert isinstance(held.value, x509.UnrecognizedExtension)
    assert held.value.value == b"\x04\x20" + hashlib.sha256(AUTHORIZATION.encode()).digest()
    assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc


def test_a_request_names_the_domain_and_is_signed_by_its_key() -> None:
    """The authority reads name and key from it."""
    key = new_key()
    request = x509.load_pem_x509_csr(request_pem(key, DOMAIN).encode())
    assert request.is_signature_valid
    names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [DOMAIN]
    assert new_key() != key


def test_what_the_authority_sends_is_looked_at() -> None:
    """Good for its domain without a known root; another's key or name is refused."""
    ca = Authority(NOW)
    leaf = ca.leaf(DOMAIN)
    pair = received(leaf.pem + ca.intermediate.pem, leaf.key_pem(), DOMAIN, now=NOW)
    assert (pair.facts.names, pair.trusted) == ((DOMAIN,), False)
    for key, domain, trouble in (
        (new_key(), DOMAIN, Trouble.KEY_FOREIGN),
        (leaf.key_pem(), "other.example.org", Trouble.NAME_MISSING),
    ):
        with pytest.raises(CheckFault) as refused:
            received(leaf.pem, key, domain, now=NOW)
        assert refused.value.trouble is trouble


def test_a_new_key_is_one_that_servers_take() -> None:
    """PKCS #8, not locked."""
    assert serialization.load_pem_private_key(new_key().encode(), None) is not None
