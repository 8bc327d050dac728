"""What is told of a certificate and its key, and each way in which a pair cannot be used."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa

from certs.check import CheckFault, Trouble, check, facts_of, read_chain
from certs.local_ca import LEAF_LIFE, issue, make_authority

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("proxy.test", "*.proxy.test")
AUTHORITY = make_authority(NAMES, now=NOW)
ISSUED = issue(AUTHORITY, NAMES, now=NOW)
OTHER = issue(make_authority(NAMES, now=NOW), NAMES, now=NOW)


def pem_of(
    key: rsa.RSAPrivateKey | ed448.Ed448PrivateKey | ec.EllipticCurvePrivateKey, password: bytes | None = None
) -> str:
    """The key as PEM, locked when a password is given."""
    lock = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock).decode()


def self_signed(key: rsa.RSAPrivateKey) -> str:
    """A certificate without any DNS name."""
    name = x509.Name([])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    dated = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1))
    return dated.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def test_a_good_pair_tells_its_facts() -> None:
    """Names, issuer and times are those of the leaf."""
    facts = check(ISSUED.chain_pem, ISSUED.key_pem, now=NOW, names=["x.proxy.test"])
    assert facts.names == NAMES
    assert facts.not_after == NOW + LEAF_LIFE
    assert "Starlight Gateway local CA" in facts.issuer
    assert facts_of(ISSUED.chain_pem) == facts


LEAF_PEM = ISSUED.chain_pem.removesuffix(AUTHORITY.certificate_pem)
OTHER_CA_PEM = OTHER.chain_pem[OTHER.chain_pem.index("-----END CERTIFICATE-----") + 26 :]


@pytest.mark.parametrize(
    ("chain_pem", "key_pem", "days", "names", "trouble"),
    [
        ("nothing", ISSUED.key_pem, 0, [], Trouble.NOT_PEM),
        ("x" * 300_000, ISSUED.key_pem, 0, [], Trouble.NOT_PEM),
        (LEAF_PEM * 11, ISSUED.key_pem, 0, [], Trouble.NOT_PEM),
        (ISSUED.chain_pem, "nothing", 0, [], Trouble.KEY_NOT_PEM),
        (ISSUED.chain_pem, "x" * 300_000, 0, [], Trouble.KEY_NOT_PEM),
        (ISSUED.chain_pem, OTHER.key_pem, 0, [], Trouble.KEY_FOREIGN),
        (LEAF_PEM + OTHER_CA_PEM, ISSUED.key_pem, 0, [], Trouble.CHAIN_BROKEN),
        (self_signed(RSA_KEY), pem_of(RSA_KEY), 0, [], Trouble.NO_NAMES),
        (ISSUED.chain_pem, ISSUED.key_pem, 0, ["other.test"], Trouble.NAME_MISSING),
        (ISSUED.chain_pem, ISSUED.key_pem, -1, [], Trouble.NOT_YET),
        (ISSUED.chain_pem, ISSUED.key_pem, 91, [], Trouble.EXPIRED),
        (ISSUED.chain_pem, pem_of(RSA_KEY, b"lock"), 0, [], Trouble.KEY_LOCKED),
        (ISSUED.chain_pem, pem_of(ed448.Ed448PrivateKey.generate()), 0, [], Trouble.KEY_WEAK),
        (
            ISSUED.chain_pem,
            pem_of(rsa.generate_private_key(public_exponent=65537, key_size=1024)),  # noqa: S505 - meant to be weak
            0,
            [],
            Trouble.KEY_WEAK,
        ),
        (
            ISSUED.chain_pem,
            pem_of(ec.generate_private_key(ec.SECP192R1())),
            0,
            [],
            Trouble.KEY_WEAK,
        ),
    ],
)
def test_each_trouble_is_told(chain_pem: str, key_pem: str, days: int, names: list[str], trouble: Trouble) -> None:
    """A pair that cannot be used is refused for its own reason."""
    with pytest.raises(CheckFault) as caught:
        check(chain_pem, key_pem, now=NOW + timedelta(days=days), names=names)
    assert caught.value.trouble is trouble
    assert "PRIVATE" not in caught.value.detail


def odd(*extensions: bytes) -> bytes:
    """A certificate in DER that has these extensions, all of a kind nobody knows."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "odd name")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(RSA_KEY.public_key())
    builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1))
    for number, content in enumerate(extensions, start=1):
        kind = x509.ObjectIdentifier(f"1.2.3.{number}")
        builder = builder.add_extension(x509.UnrecognizedExtension(kind, content), critical=False)
    return builder.sign(RSA_KEY, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(odd(b"", b"").replace(b"\x2a\x03\x02", b"\x2a\x03\x01"), id="an extension twice"),
        pytest.param(odd().replace(b"odd name", b"odd \xff\xfe\xfd\xfc"), id="a name in no encoding"),
        pytest.param(odd().replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x07"), id="an unknown version"),
        pytest.param(odd().replace(b"\x17\x0d2601", b"\x17\x0d2699"), id="a month that is none"),
    ],
)
def test_what_the_library_would_find_later_is_found_at_the_edge(damaged: bytes) -> None:
    """It reads a certificate's parts when asked; an upload of such a one is no fault of ours."""
    assert damaged != odd()
    pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(damaged).decode()}-----END CERTIFICATE-----\n"
    for look in (facts_of, read_chain):
        with pytest.raises(CheckFault) as caught:
            look(pem)
        assert caught.value.trouble is Trouble.NOT_PEM


def test_a_locked_key_opens_with_its_password() -> None:
    """The right password opens the key; a wrong one is told as such."""
    locked = pem_of(RSA_KEY, b"lock")
    with pytest.raises(CheckFault) as wrong:
        check(self_signed(RSA_KEY), locked, now=NOW, password="key")
    assert wrong.value.trouble is Trouble.KEY_PASSWORD
    with pytest.raises(CheckFault) as nameless:
        check(self_signed(RSA_KEY), locked, now=NOW, password="lock")
    assert nameless.value.trouble is Trouble.NO_NAMES
