"""What ACME asks a domain to show, and what it gives (RFC 8555, RFC 8737). Pure: who talks to the authority is control.

A *key authorization* (RFC 8555 section 8.1) is the challenge's token and the account key's thumbprint. HTTP-01 shows
it as it is, DNS-01 its digest, TLS-ALPN-01 a certificate that holds the digest.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.check import check
from certs.upload import Pair
from certs.writing import certificate_pem, key_pem

DNS_LABEL: Final = "_acme-challenge"
"""What stands before the domain in the name of DNS-01's TXT record (RFC 8555 section 8.4)."""
_IDENTIFIER: Final = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")
"""id-pe-acmeIdentifier (RFC 8737 section 6.1)."""
_OCTET_STRING: Final = b"\x04\x20"
_LIFE: Final = timedelta(days=1)


def dns_record(domain: str, authorization: str) -> tuple[str, str]:
    """Name and value of the TXT record that answers DNS-01 (RFC 8555 section 8.4)."""
    value = base64.urlsafe_b64encode(_digest(authorization)).rstrip(b"=").decode()
    return f"{DNS_LABEL}.{domain}", value


def validation_pair(domain: str, authorization: str, *, now: datetime) -> tuple[str, str]:
    """Certificate and key, PEM, to show in the handshake of TLS-ALPN-01 and nowhere else (RFC 8737 section 3)."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LIFE)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(domain)]), critical=True)
        .add_extension(x509.UnrecognizedExtension(_IDENTIFIER, _OCTET_STRING + _digest(authorization)), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate_pem(certificate), key_pem(key)


def new_key() -> str:
    """A fresh private key (P-256), PEM: for an account, or for one certificate."""
    return key_pem(ec.generate_private_key(ec.SECP256R1()))


def request_pem(key: str, domain: str) -> str:
    """The request for a certificate for `domain` with this key, PEM (RFC 8555 section 7.4)."""
    signer = serialization.load_pem_private_key(key.encode(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey), "new_key makes no other kind"
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([]))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(domain)]), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return request.public_bytes(serialization.Encoding.PEM).decode()


def received(chain_pem: str, key: str, domain: str, *, now: datetime) -> Pair:
    """What the authority sent, found good for the domain. Raises CheckFault.

    Whether its root is known here does not matter: the administrator chose the authority.
    """
    return Pair(chain_pem, key, check(chain_pem, key, now=now, names=[domain]), trusted=False)


def _digest(authorization: str) -> bytes:
    return hashlib.sha256(authorization.encode()).digest()
