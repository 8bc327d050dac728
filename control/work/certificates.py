"""Keeps what gateways need to speak for us: the base domain's certificate, the certified host key, the ticket key.

All lie sealed in the database; gateways get them through the feed. The authority that signs is made by
the supervisor and stays in a file of ours.
"""

from __future__ import annotations

import logging
import secrets as randomness
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import asyncssh
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from certs.local_ca import Authority, issue, needs_issue
from certs.store import load_authority
from control.store import secrets
from control.store.engine import Database
from control.store.secrets import HOST, Vault
from control.work.host_keys import HostCertificates

log = logging.getLogger(__name__)

BASE: Final = "base"
"""The id of the certificate for the base domain and the console's name."""
LOOK_EVERY_S: Final = 24 * 3600.0
_TICKET_BYTES: Final = 32


class Certificates:
    """Makes what is missing and renews what ends soon. Holds no state."""

    def __init__(
        self, db: Database, vault: Vault, folder: Path, names: tuple[str, ...], now: Callable[[], float]
    ) -> None:
        """`folder` holds the local authority; `names` are what it signs."""
        self._db = db
        self._vault = vault
        self._folder = folder
        self._names = names
        self._now = now

    async def look(self) -> None:
        """Makes sure that everything is there and good for a while."""
        await self._have_secret("ticket", lambda: randomness.token_hex(_TICKET_BYTES))
        await self._have_secret(HOST, _host_key)
        await HostCertificates(self._db, self._vault, self._folder, self._now).look()
        await self._have_secret("identity", _identity_key)
        authority = load_authority(self._folder)
        if authority is None:
            log.error("the local CA is missing: https entries have no certificate until `starlight up` makes it")
        else:
            await self._have_certificate(authority)

    async def _have_secret(self, use: str, make: Callable[[], str]) -> None:
        async with self._db.write() as session:
            if not await secrets.secrets_of(session, use):
                await secrets.add_secret(session, self._vault, use, make(), self._now())
                log.info("made the first %s secret", use)

    async def _have_certificate(self, authority: Authority) -> None:
        now = self._now()
        moment = datetime.fromtimestamp(now, UTC)
        async with self._db.read() as session:
            row = await secrets.certificate(session, BASE)
        if row is not None:
            key_pem = self._vault.open(f"certificate:{BASE}", row.key_sealed)
            if not needs_issue(authority, row.chain_pem, key_pem, self._names, now=moment):
                return
        made = issue(authority, self._names, now=moment)
        async with self._db.write() as session:
            await secrets.put_certificate(
                session,
                self._vault,
                BASE,
                names=made.names,
                chain_pem=made.chain_pem,
                key_pem=made.key_pem,
                not_after=made.not_after.timestamp(),
                is_default=True,
                now=now,
            )
        log.info("issued a certificate for %s, good until %s", ", ".join(made.names), made.not_after.date())


def _identity_key() -> str:
    """The key that signs who a visitor is, for apps (ES256)."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _host_key() -> str:
    return asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
