"""What a certificate is good for: its names and times, and whether chain and key belong together.

Pure but for parsing. Everything wrong with a pair is told as one CheckFault, a closed list, so that a
caller can word it for its person.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

from certs.choose import matches

_PEM_LIMIT = 256 * 1024
"""Bytes of a chain or key that are looked at; a real chain has some 10 kB."""
_CHAIN_LIMIT = 10
_RSA_LEAST_BITS = 2048
_EC_LEAST_BITS = 256
_MALFORMED = (
    ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.InvalidVersion, x509.UnsupportedGeneralNameType,
)  # fmt: skip
"""What the library raises for a certificate that it cannot make sense of."""
ServerKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


class Trouble(StrEnum):
    """Why a certificate cannot be used."""

    NOT_PEM = "not_pem"
    KEY_NOT_PEM = "key_not_pem"
    KEY_LOCKED = "key_locked"
    KEY_PASSWORD = "key_password"  # noqa: S105 - the name of a trouble
    KEY_WEAK = "key_weak"
    KEY_FOREIGN = "key_foreign"
    CHAIN_BROKEN = "chain_broken"
    CHAIN_INCOMPLETE = "chain_incomplete"
    SIGNATURE_WEAK = "signature_weak"
    NOT_SERVER = "not_server"
    NO_NAMES = "no_names"
    NAME_MISSING = "name_missing"
    NOT_YET = "not_yet"
    EXPIRED = "expired"


class CheckFault(ValueError):
    """A certificate that cannot be used; `trouble` says why, `detail` is for the log."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble = trouble
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Facts:
    """What a certificate says of itself. Times are aware UTC; `issuer` and `subject` are RFC 4514 text."""

    names: tuple[str, ...]
    subject: str
    issuer: str
    not_before: datetime
    not_after: datetime


def check(
    chain_pem: str, key_pem: str, *, now: datetime, names: Iterable[str] = (), password: str | None = None
) -> Facts:
    """The facts of a leaf-first chain and its key, usable at `now` for each of `names`. Raises CheckFault if not."""
    check_key(chain_pem, key_pem, password=password)
    chain = read_chain(chain_pem)
    _check_links(chain)
    held = facts(chain[0])
    check_names(held, names)
    check_times(held, now)
    return held


def check_names(held: Facts, names: Iterable[str]) -> None:
    """Raises CheckFault when the certificate holds no DNS name, or lacks one of `names`."""
    if not held.names:
        raise CheckFault(Trouble.NO_NAMES, "the certificate holds no DNS name (subjectAltName)")
    for name in names:
        if not any(matches(pattern, name) for pattern in held.names):
            raise CheckFault(Trouble.NAME_MISSING, f"the certificate does not hold {name}")


def check_times(held: Facts, now: datetime) -> None:
    """Raises CheckFault when the certificate does not count yet, or no more."""
    if now < held.not_before:
        raise CheckFault(Trouble.NOT_YET, f"{held.not_before:%Y-%m-%d}")
    if now >= held.not_after:
        raise CheckFault(Trouble.EXPIRED, f"{held.not_after:%Y-%m-%d}")


def check_key(chain_pem: str, key_pem: str, *, password: str | None = None) -> None:
    """Raises CheckFault when the key is not that of the chain's first certificate, or serves no TLS."""
    key = read_key(key_pem, password)
    if public_bytes(key.public_key()) != public_bytes(read_chain(chain_pem)[0].public_key()):
        raise CheckFault(Trouble.KEY_FOREIGN, "the private key is not this certificate's")


def facts_of(chain_pem: str) -> Facts:
    """The facts of a chain's first certificate, whatever the time. Raises CheckFault when it is not PEM."""
    return facts(read_chain(chain_pem)[0])


def facts(leaf: x509.Certificate) -> Facts:
    """What a certificate says of itself."""
    return Facts(
        _dns_names(leaf),
        leaf.subject.rfc4514_string(),
        leaf.issuer.rfc4514_string(),
        leaf.not_valid_before_utc,
        leaf.not_valid_after_utc,
    )


def read_chain(chain_pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM text, one to ten, as they stand in it. Raises CheckFault."""
    if len(chain_pem) > _PEM_LIMIT:
        raise CheckFault(Trouble.NOT_PEM, f"more than {_PEM_LIMIT} bytes")
    try:
        chain = x509.load_pem_x509_certificates(chain_pem.encode())
        for certificate in chain:  # they are read only when asked: a malformed one is met here, at the edge
            certificate.public_key()
            facts(certificate)
    except _MALFORMED as fault:
        raise CheckFault(Trouble.NOT_PEM, f"not a PEM certificate: {fault}") from fault
    if len(chain) > _CHAIN_LIMIT:
        raise CheckFault(Trouble.NOT_PEM, f"more than {_CHAIN_LIMIT} certificates")
    return chain


def read_key(key_pem: str, password: str | None) -> ServerKey:
    """The private key of a PEM text, strong enough for TLS. Raises CheckFault."""
    if len(key_pem) > _PEM_LIMIT:
        raise CheckFault(Trouble.KEY_NOT_PEM, f"more than {_PEM_LIMIT} bytes")
    try:
        key = serialization.load_pem_private_key(key_pem.encode(), password.encode() if password else None)
    except TypeError as fault:  # a password where none is wanted, or none where one is
        raise CheckFault(Trouble.KEY_PASSWORD if password else Trouble.KEY_LOCKED, str(fault)) from fault
    except (ValueError, UnsupportedAlgorithm) as fault:
        trouble = Trouble.KEY_PASSWORD if password else Trouble.KEY_NOT_PEM
        raise CheckFault(trouble, f"not a private key that can be read: {fault}") from fault
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey):
        raise CheckFault(Trouble.KEY_WEAK, f"a key of kind {type(key).__name__} serves no TLS")
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < _RSA_LEAST_BITS:
        raise CheckFault(Trouble.KEY_WEAK, f"an RSA key of {key.key_size} bits; {_RSA_LEAST_BITS} are the least")
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size < _EC_LEAST_BITS:
        raise CheckFault(Trouble.KEY_WEAK, f"a key on {key.curve.name}; {_EC_LEAST_BITS} bits are the least")
    return key


def _check_links(chain: list[x509.Certificate]) -> None:
    for number, (lower, upper) in enumerate(pairwise(chain), start=1):
        try:
            lower.verify_directly_issued_by(upper)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as fault:
            detail = f"certificate {number + 1} of the chain did not sign certificate {number}"
            raise CheckFault(Trouble.CHAIN_BROKEN, detail) from fault


def _dns_names(leaf: x509.Certificate) -> tuple[str, ...]:
    try:
        held = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(name.lower() for name in held.value.get_values_for_type(x509.DNSName))


def public_bytes(key: CertificatePublicKeyTypes) -> bytes:
    """A public key as bytes that can be compared."""
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
