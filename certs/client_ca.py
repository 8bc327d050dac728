"""The authority for client certificates: each lets one person pass one entry, and nobody but our gateways trusts it.

It may sign TLS clients only (RFC 5280 section 4.2.1.12), and what it signs names a person and an entry's
label. What a certificate is good for is decided anew at each connection: the gateway looks its
fingerprint up, so that one which was withdrawn is worth nothing however long it still lasts.
Nothing here touches a file or a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.local_ca import Authority
from certs.writing import certificate_pem, key_pem, key_usage

AUTHORITY_LIFE: Final = timedelta(days=3650)
CLIENT_LIFE: Final = timedelta(days=30)
_CLOCK_SLACK: Final = timedelta(hours=1)
"""A gateway whose clock is a little behind must accept a certificate made this minute."""


@dataclass(frozen=True, slots=True)
class IssuedClient:
    """A client certificate and its key, PEM. `fingerprint` is the hex SHA-256 of the DER; it ends at `not_after`."""

    certificate_pem: str
    key_pem: str = field(repr=False)
    serial: str
    fingerprint: str
    not_after: datetime


def make_client_authority(*, now: datetime) -> Authority:
    """A new authority that can sign TLS clients and nothing else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Starlight Gateway client CA")])
    builder = (
        _draft(name, name, key.public_key(), now, now + AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(certificate_pem(builder.sign(key, hashes.SHA256())), key_pem(key))


def outlasts(authority_pem: str, *, now: datetime) -> bool:
    """Whether the authority lives at least as long as a certificate that it would sign now."""
    return x509.load_pem_x509_certificate(authority_pem.encode()).not_valid_after_utc >= now + CLIENT_LIFE


def issue_client(authority: Authority, *, user: str, entry: str, now: datetime) -> IssuedClient:
    """A fresh certificate by which `user` passes the entry of the label `entry`, for CLIENT_LIFE."""
    signer = x509.load_pem_x509_certificate(authority.certificate_pem.encode())
    signing_key = serialization.load_pem_private_key(authority.key_pem.encode(), None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey), "make_client_authority makes no other kind"
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, user)])
    end = min(now + CLIENT_LIFE, signer.not_valid_after_utc)
    certificate = (
        _draft(subject, signer.subject, key.public_key(), now, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(f"urn:starlight:entry:{entry}")]),
            critical=False,
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return IssuedClient(
        certificate_pem=certificate_pem(certificate),
        key_pem=key_pem(key),
        serial=f"{certificate.serial_number:x}",
        fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
        not_after=certificate.not_valid_after_utc,
    )


def _draft(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(end)
    )
