"""A certificate and key as a person brings them, judged and put in order, or refused for the one thing that is wrong.

People bring what their authority sent: the chain in any order, with the root or a stranger in it, the key
perhaps locked by a password. What comes out is what servers should send (RFC 8446 section 4.4.2): leaf
first, each signed by the next, without the root; and the key, unlocked, as PKCS #8. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.check import (
    CheckFault,
    Facts,
    ServerKey,
    Trouble,
    check_names,
    check_times,
    facts,
    public_bytes,
    read_chain,
    read_key,
)

_WEAK_HASHES = (hashes.MD5, hashes.SHA1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair that can be served. `trusted`: its chain leads to one of the roots, which proves whose its name is.

    `chain_pem` is in order and without the root; `key_pem` is unlocked.
    """

    chain_pem: str
    key_pem: str = field(repr=False)
    facts: Facts
    trusted: bool


def judge(
    chain_pem: str,
    key_pem: str,
    *,
    password: str | None,
    name: str,
    now: datetime,
    roots: Sequence[x509.Certificate],
) -> Pair:
    """The pair, good for `name` at `now`. Raises CheckFault with the first thing that is wrong.

    `roots` are the authorities that this machine trusts.
    """
    given = read_chain(chain_pem)
    key = read_key(key_pem, password)
    chain = _in_order(_leaf_of(key, given), given)
    held = facts(chain[0])
    check_names(held, [name])
    _check_use(chain[0])
    for certificate in chain:
        check_times(facts(certificate), now)
        _check_signature(certificate)
    served = chain[:-1] if len(chain) > 1 and _is_own_issuer(chain[-1]) else chain
    if not _is_complete(chain, roots):
        raise CheckFault(Trouble.CHAIN_INCOMPLETE, facts(chain[-1]).issuer)
    return Pair(_pem(served), _key_pem(key), held, trusted=_is_trusted(given, chain[0], name, now, roots))


def _leaf_of(key: ServerKey, given: Sequence[x509.Certificate]) -> x509.Certificate:
    """The certificate of this key; of a renewed one and its forerunner the later."""
    own = [one for one in given if public_bytes(one.public_key()) == public_bytes(key.public_key())]
    if not own:
        raise CheckFault(Trouble.KEY_FOREIGN, "the private key is none of these certificates'")
    return max(own, key=lambda one: one.not_valid_after_utc)


def _in_order(leaf: x509.Certificate, given: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """From the leaf up, each signed by the next; what signs nothing of it is left out."""
    chain = [leaf]
    while not _is_own_issuer(chain[-1]):
        above = [one for one in given if one not in chain and _signed(one, chain[-1])]
        if not above:
            break
        # A root that was brought along ends the chain: a cross-signed copy of it would only lengthen it.
        chain.append(next((one for one in above if _is_own_issuer(one)), above[0]))
    return chain


def _is_complete(chain: Sequence[x509.Certificate], roots: Sequence[x509.Certificate]) -> bool:
    """Whether nothing is missing between the leaf and a root, brought along or known to this machine."""
    return _is_own_issuer(chain[-1]) or any(_signed(root, chain[-1]) for root in roots)


def _signed(upper: x509.Certificate, lower: x509.Certificate) -> bool:
    if upper.subject != lower.issuer:
        return False
    try:
        lower.verify_directly_issued_by(upper)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def _is_own_issuer(certificate: x509.Certificate) -> bool:
    return certificate.subject == certificate.issuer and _signed(certificate, certificate)


def _check_use(leaf: x509.Certificate) -> None:
    try:
        uses = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return
    if not {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(uses):
        raise CheckFault(Trouble.NOT_SERVER, "the extended key usage names no TLS server")


def _check_signature(certificate: x509.Certificate) -> None:
    if _is_own_issuer(certificate):
        return  # nobody relies on a root's signature of itself
    try:
        algorithm = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm as fault:
        raise CheckFault(Trouble.SIGNATURE_WEAK, str(fault)) from fault
    if isinstance(algorithm, _WEAK_HASHES):
        raise CheckFault(Trouble.SIGNATURE_WEAK, algorithm.name)


def _is_trusted(
    given: Sequence[x509.Certificate],
    leaf: x509.Certificate,
    name: str,
    now: datetime,
    roots: Sequence[x509.Certificate],
) -> bool:
    if not roots:
        return False
    verifier = PolicyBuilder().store(Store(list(roots))).time(now).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(leaf, [one for one in given if one is not leaf])
    except VerificationError:
        return False
    return True


def _pem(chain: Sequence[x509.Certificate]) -> str:
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in chain)


def _key_pem(key: ServerKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
