"""Keys at rest: the vault that seals what lies in the database, and the secrets that gateways share.

The vault's key lies in a file of its own (0600) beside the database, so that a copy of the database
alone opens nothing. AES-256-GCM; the purpose is authenticated, so that one sealed text cannot stand
in for another.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from control.store import feed, records
from control.store.engine import first
from control.store.tables import CertificateRow, SecretRow

HOST: Final = "ssh-host"
"""The use of the gateways' ssh host keys."""
HOST_CERTIFICATE: Final = "ssh-host-cert"
"""The use of the certificates that were made for them; one line each, no secret."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class Vault:
    """Seals and opens texts, and makes the HMACs by which codes are looked up."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(hashlib.sha256(b"seal" + key).digest())
        self._hmac_key = hashlib.sha256(b"hmac" + key).digest()

    def seal(self, purpose: str, text: str) -> str:
        """`text`, encrypted for `purpose`."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, text.encode(), purpose.encode())
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, purpose: str, sealed: str) -> str:
        """The text. Raises ValueError when it was not sealed here for this purpose."""
        try:
            raw = base64.urlsafe_b64decode(sealed)
            return self._cipher.decrypt(raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], purpose.encode()).decode()
        except (InvalidTag, ValueError) as fault:
            raise ValueError(f"this was not sealed for {purpose} with this key") from fault

    def hmac(self, purpose: str, text: str) -> str:
        """The hex HMAC-SHA-256 of `text`, for look-up without keeping the text."""
        return hmac.new(self._hmac_key, f"{purpose}\0{text}".encode(), hashlib.sha256).hexdigest()


def load_vault(path: Path) -> Vault:
    """The vault whose key lies at `path`; made, mode 0600, at the first start."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
    else:
        key = secrets.token_bytes(_KEY_BYTES)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
    if len(key) != _KEY_BYTES:
        raise ValueError(f"the key file {path} is damaged: {len(key)} bytes instead of {_KEY_BYTES}")
    return Vault(key)


async def add_secret(session: AsyncSession, vault: Vault, use: str, value: str, now: float) -> SecretRow:
    """A new generation of the secret `use`; the older ones go on verifying."""
    known = await secrets_of(session, use)
    generation = max((row.generation for row in known), default=0) + 1
    row = SecretRow(
        id=f"{use}-{generation}",
        use=use,
        generation=generation,
        value_sealed=vault.seal(f"secret:{use}", value),
        created_at=now,
    )
    session.add(row)
    await session.flush()
    await feed.put(session, records.secret(row), now)
    return row


async def secrets_of(session: AsyncSession, use: str) -> Sequence[SecretRow]:
    """All generations of the secret `use`, oldest first."""
    rows = select(SecretRow).where(SecretRow.use == use).order_by(SecretRow.generation)
    return (await session.scalars(rows)).all()


async def certificate(session: AsyncSession, name: str) -> CertificateRow | None:
    """The certificate with this id."""
    return await session.get(CertificateRow, name)


async def default_certificate(session: AsyncSession) -> CertificateRow | None:
    """The certificate that answers names which no other has: our own authority's."""
    return await first(session, select(CertificateRow).where(CertificateRow.is_default).limit(1))


async def put_certificate(
    session: AsyncSession,
    vault: Vault,
    name: str,
    *,
    names: Sequence[str],
    chain_pem: str,
    key_pem: str,
    not_after: float,
    is_default: bool,
    now: float,
) -> int:
    """Stores a certificate in place of that of the same id; returns the revision at which gateways serve it."""
    row = CertificateRow(
        id=name,
        names=list(names),
        chain_pem=chain_pem,
        key_sealed=vault.seal(f"certificate:{name}", key_pem),
        is_default=is_default,
        not_after=not_after,
        created_at=now,
    )
    row = await session.merge(row)
    await session.flush()
    return await feed.put(session, records.certificate(row), now)
