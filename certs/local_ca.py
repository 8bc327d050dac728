"""The machine's own certificate authority: made at the first start, trusted by those who choose to.

Whoever trusts it must not be at this machine's mercy: its name constraints (RFC 5280 section 4.2.1.10,
critical) let it sign nothing but the base domain and the console's name, no address, and for TLS servers only.
Nothing here touches a file or a clock: `certs/store.py` keeps what is made.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.check import CheckFault, check
from certs.writing import certificate_pem, key_pem, key_usage

AUTHORITY_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=90)
RENEW_BEFORE = timedelta(days=30)
_CLOCK_SLACK = timedelta(hours=1)
"""A browser whose clock is a little behind must accept a certificate made this minute."""
_EVERY_ADDRESS = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))


@dataclass(frozen=True, slots=True)
class Authority:
    """The authority's own certificate, to be trusted, and its key, to be kept; both PEM."""

    certificate_pem: str
    key_pem: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Issued:
    """A server certificate: the chain, leaf first, and its key, both PEM. It ends at `not_after` (aware UTC)."""

    names: tuple[str, ...]
    chain_pem: str
    key_pem: str = field(repr=False)
    not_after: datetime


def make_authority(names: Sequence[str], *, now: datetime) -> Authority:
    """A new authority that can sign `names` (a wildcard counts as the domain below it) and what lies below them."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Starlight Gateway local CA ({names[0]})")])
    builder = (
        _certificate(subject, subject, key.public_key(), now, AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_constraints(names), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(certificate_pem(builder.sign(key, hashes.SHA256())), key_pem(key))


def can_sign(authority: Authority, names: Sequence[str]) -> bool:
    """Whether every one of `names` lies within the authority's constraints; false after the base domain changed."""
    certificate = x509.load_pem_x509_certificate(authority.certificate_pem.encode())
    constraints = certificate.extensions.get_extension_for_class(x509.NameConstraints).value
    permitted = [item.value for item in constraints.permitted_subtrees or () if isinstance(item, x509.DNSName)]
    return all(any(_lies_below(name, domain) for domain in permitted) for name in names)


def issue(authority: Authority, names: Sequence[str], *, now: datetime) -> Issued:
    """A fresh server certificate for `names`. Raises ValueError when the authority may not sign one of them."""
    if not can_sign(authority, names):
        raise ValueError(f"the local CA may not sign all of {', '.join(names)}")
    signer = x509.load_pem_x509_certificate(authority.certificate_pem.encode())
    signing_key = serialization.load_pem_private_key(authority.key_pem.encode(), None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey), "make_authority makes no other kind"
    key = ec.generate_private_key(ec.SECP256R1())
    end = min(now + LEAF_LIFE, signer.not_valid_after_utc)
    builder = (
        _certificate(x509.Name([]), signer.subject, key.public_key(), now, end - now)
        # RFC 5280 section 4.2.1.6: with an empty subject the names must be critical.
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    leaf_pem = certificate_pem(builder.sign(signing_key, hashes.SHA256()))
    return Issued(tuple(names), leaf_pem + authority.certificate_pem, key_pem(key), end)


def needs_issue(authority: Authority, chain_pem: str, key_pem: str, names: Sequence[str], *, now: datetime) -> bool:
    """Whether a kept certificate must be made anew: ending soon, other names, another authority, or unusable."""
    if not chain_pem.endswith(authority.certificate_pem):
        return True
    try:
        held = check(chain_pem, key_pem, now=now)
    except CheckFault:
        return True
    return set(held.names) != set(names) or held.not_after - now < RENEW_BEFORE


def _certificate(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + life)
    )


def _constraints(names: Sequence[str]) -> x509.NameConstraints:
    domains = dict.fromkeys(name.removeprefix("*.") for name in names)
    return x509.NameConstraints(
        permitted_subtrees=[x509.DNSName(domain) for domain in domains],
        excluded_subtrees=[x509.IPAddress(network) for network in _EVERY_ADDRESS],
    )


def _lies_below(name: str, domain: str) -> bool:
    bare = name.removeprefix("*.")
    return bare == domain or bare.endswith("." + domain)
