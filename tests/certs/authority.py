"""A public authority in small: root, intermediate and leaves, as tests need them, good and bad."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

SERVER: Final = ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True)
class Signer:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """The key as PEM, locked when a password is given."""
        lock = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock).decode()


class Authority:
    """A root and an intermediate that signs leaves, all good around `now`."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.root = self._signer("Test Root", None)
        self.intermediate = self._signer("Test Issuing CA", self.root)

    def leaf(
        self,
        *names: str,
        days: float = 90,
        since: float = -1,
        use: ObjectIdentifier = SERVER,
        by: Signer | None = None,
    ) -> Signer:
        """A leaf for `names`, good from `since` to `days` days from now."""
        signer, key = by or self.intermediate, ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(x509.Name([]), signer.certificate.subject, key, since, days)
        builder = (
            builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key()), critical=False)
        )
        return Signer(builder.sign(signer.key, hashes.SHA256()), key)

    def self_signed(self, name: str) -> Signer:
        """A leaf that vouches for itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, subject, key, -1, 90)
        named = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return Signer(named.sign(key, hashes.SHA256()), key)

    def _signer(self, name: str, by: Signer | None) -> Signer:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer, signing = (subject, key) if by is None else (by.certificate.subject, by.key)
        builder = (
            self._builder(subject, issuer, key, -10, 3650)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_signs(), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        )
        return Signer(builder.sign(signing, hashes.SHA256()), key)

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, since: float, days: float
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now + timedelta(days=since))
            .not_valid_after(self.now + timedelta(days=days))
        )


def _signs() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
