"""What people bring as certificate and key: put in order when it is good, refused for its own reason when not."""

from __future__ import annotations

import base64
import itertools
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import upload
from certs.check import CheckFault, Trouble, check
from certs.upload import Pair, judge
from tests.certs.authority import Authority

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CA = Authority(NOW)
STRANGERS = Authority(NOW)
ROOTS = (CA.root.certificate,)
NAME = "lab.example.org"
LEAF = CA.leaf(NAME)
CHAIN = LEAF.pem + CA.intermediate.pem


def judged(chain: str, key: str, *, password: str | None = None, name: str = NAME, trust: bool = True) -> Pair:
    """The verdict at NOW."""
    return judge(chain, key, password=password, name=name, now=NOW, roots=ROOTS if trust else ())


@pytest.mark.parametrize("order", list(itertools.permutations([LEAF.pem, CA.intermediate.pem, CA.root.pem])))
def test_the_chain_comes_in_any_order_and_the_root_is_dropped(order: tuple[str, ...]) -> None:
    """B56: what is served is leaf first, each signed by the next, without the root."""
    pair = judged("".join(order), LEAF.key_pem())
    assert pair.chain_pem == CHAIN
    assert pair.trusted
    assert pair.facts.names == (NAME,)


def test_a_stranger_in_the_chain_is_left_out() -> None:
    """People paste whole bundles."""
    assert judged(STRANGERS.intermediate.pem + CHAIN, LEAF.key_pem()).chain_pem == CHAIN


def test_text_around_the_pem_and_windows_line_ends_do_no_harm() -> None:
    """As `openssl x509 -text` and editors write them."""
    text = f"Certificate:\n    Data:\n{CHAIN}".replace("\n", "\r\n")
    assert judged(text, LEAF.key_pem()).chain_pem == CHAIN


def test_a_key_in_the_old_form_behind_its_parameters_is_read() -> None:
    """`openssl ecparam -genkey` writes two blocks."""
    old = LEAF.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
    parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    assert judged(CHAIN, parameters + old).key_pem.startswith("-----BEGIN PRIVATE KEY-----")


def test_a_locked_key_is_unlocked() -> None:
    """What is kept needs no password; the vault seals it."""
    pair = judged(CHAIN, LEAF.key_pem("open sesame"), password="open sesame")
    assert pair.key_pem == LEAF.key_pem()
    assert "PRIVATE" not in repr(pair)


def test_of_a_renewed_certificate_the_later_counts() -> None:
    """Both are there with the same key."""
    forerunner = CA.self_signed("old.example.org")
    assert judged(forerunner.pem + CHAIN, LEAF.key_pem()).facts.names == (NAME,)


def test_a_chain_of_ones_own_is_good_but_proves_nothing() -> None:
    """Self-signed, or by an authority that this machine does not know: who owns the domain shows otherwise."""
    own = CA.self_signed(NAME)
    assert not judged(own.pem, own.key_pem()).trusted
    foreign = STRANGERS.leaf(NAME)
    pair = judged(foreign.pem + STRANGERS.intermediate.pem + STRANGERS.root.pem, foreign.key_pem())
    assert not pair.trusted
    assert pair.chain_pem == foreign.pem + STRANGERS.intermediate.pem


def test_a_leaf_may_not_act_as_an_authority() -> None:
    """Somebody with a trusted certificate of their own signs another's name: no proof."""
    mallory = CA.leaf("mallory.example.org")
    forged = CA.leaf(NAME, by=mallory)
    chain = forged.pem + mallory.pem + CA.intermediate.pem
    assert not judged(chain, forged.key_pem()).trusted


@pytest.mark.parametrize(
    ("chain", "key", "password", "name", "trouble"),
    [
        ("", LEAF.key_pem(), None, NAME, Trouble.NOT_PEM),
        (LEAF.key_pem(), LEAF.key_pem(), None, NAME, Trouble.NOT_PEM),
        (CHAIN + "x" * 300_000, LEAF.key_pem(), None, NAME, Trouble.NOT_PEM),
        (LEAF.pem * 11, LEAF.key_pem(), None, NAME, Trouble.NOT_PEM),
        (CHAIN, CHAIN, None, NAME, Trouble.KEY_NOT_PEM),
        (CHAIN, "x" * 300_000, None, NAME, Trouble.KEY_NOT_PEM),
        (CHAIN, LEAF.key_pem("secret"), None, NAME, Trouble.KEY_LOCKED),
        (CHAIN, LEAF.key_pem("secret"), "wrong", NAME, Trouble.KEY_PASSWORD),
        (CHAIN, CA.leaf(NAME).key_pem(), None, NAME, Trouble.KEY_FOREIGN),
        (CHAIN, LEAF.key_pem(), None, "other.example.org", Trouble.NAME_MISSING),
        (LEAF.pem, LEAF.key_pem(), None, NAME, Trouble.CHAIN_INCOMPLETE),
        (LEAF.pem + CA.root.pem, LEAF.key_pem(), None, NAME, Trouble.CHAIN_INCOMPLETE),
    ],
)
def test_each_trouble_is_told(chain: str, key: str, password: str | None, name: str, trouble: Trouble) -> None:
    """B55: refused at upload, for its own reason, and the key is not repeated."""
    with pytest.raises(CheckFault) as caught:
        judged(chain, key, password=password, name=name)
    assert caught.value.trouble is trouble
    assert "PRIVATE" not in caught.value.detail


@pytest.mark.parametrize(
    ("leaf", "trouble"),
    [
        (CA.leaf(NAME, since=-90, days=-0.5), Trouble.EXPIRED),
        (CA.leaf(NAME, since=1), Trouble.NOT_YET),
        (CA.leaf(NAME, use=ExtendedKeyUsageOID.CLIENT_AUTH), Trouble.NOT_SERVER),
    ],
)
def test_times_and_use_count(leaf: object, trouble: Trouble) -> None:
    """Expired, not yet valid, or made for clients."""
    with pytest.raises(CheckFault) as caught:
        judged(leaf.pem + CA.intermediate.pem, leaf.key_pem())  # type: ignore[attr-defined] # a Signer
    assert caught.value.trouble is trouble


def test_a_weak_signature_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """SHA-1 cannot be signed here any more: the list of weak ones is widened instead."""
    monkeypatch.setattr(upload, "_WEAK_HASHES", (type(LEAF.certificate.signature_hash_algorithm),))
    with pytest.raises(CheckFault) as caught:
        judged(CHAIN, LEAF.key_pem())
    assert caught.value.trouble is Trouble.SIGNATURE_WEAK


def test_a_signature_of_an_unknown_kind_is_refused() -> None:
    """Nobody could check it."""
    plain = LEAF.certificate.public_bytes(serialization.Encoding.DER)
    odd = plain.replace(bytes.fromhex("06082a8648ce3d040302"), bytes.fromhex("06082a8648ce3d04030f"))
    assert odd != plain
    pem = f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(odd).decode()}-----END CERTIFICATE-----\n"
    for chain in (pem, pem + CA.intermediate.pem):
        with pytest.raises(CheckFault) as caught:
            judged(chain, LEAF.key_pem())
        assert caught.value.trouble is Trouble.SIGNATURE_WEAK
    with pytest.raises(CheckFault) as broken:
        check(pem + CA.intermediate.pem, LEAF.key_pem(), now=CA.now)
    assert broken.value.trouble is Trouble.CHAIN_BROKEN


def test_without_any_root_nothing_is_trusted() -> None:
    """A machine without a trust store still takes whole chains."""
    pair = judged(CHAIN + CA.root.pem, LEAF.key_pem(), trust=False)
    assert not pair.trusted
    assert isinstance(LEAF.key, ec.EllipticCurvePrivateKey)
