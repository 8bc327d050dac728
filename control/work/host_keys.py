"""Certificates for the gateways' ssh host keys, from an authority of our own.

Who trusts that authority (one `@cert-authority` line of known_hosts) knows the gateway, and every job
behind it that is reached by a jump, without being asked. Its key stays in a file of control's; what
gateways get is the certificate.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import asyncssh
from asyncssh.public_key import SSHOpenSSHCertificate

from control.store import secrets
from control.store.engine import Database
from control.store.secrets import HOST, HOST_CERTIFICATE, Vault
from control.store.tables import SecretRow

log = logging.getLogger(__name__)

AUTHORITY_FILE: Final = "ssh_authority"
LIFE_S: Final = 365 * 24 * 3600.0
RENEW_S: Final = 90 * 24 * 3600.0
"""A certificate is renewed when less than this of its life is left."""
_SLACK_S: Final = 24 * 3600
_EVERY_NAME: Final = ()
"""For which names it counts is said by whoever trusts the authority: their line in known_hosts names them.

OpenSSH from 10.3 on wants `*` here, which those before it do not know: the newer ones take the bare key.
"""


class HostCertificates:
    """Keeps the newest host key certified. Holds no state."""

    def __init__(self, db: Database, vault: Vault, folder: Path, now: Callable[[], float]) -> None:
        """`folder` is control's own; the authority's key lies there, mode 0600."""
        self._db, self._vault, self._folder, self._now = db, vault, folder, now

    async def look(self) -> None:
        """Makes the certificate when there is none for the newest key, or it ends soon."""
        authority = self._authority()
        async with self._db.write() as session:
            keys = await secrets.secrets_of(session, HOST)
            if not keys:
                return
            key = asyncssh.import_private_key(self._vault.open(f"secret:{HOST}", keys[-1].value_sealed))
            made = await secrets.secrets_of(session, HOST_CERTIFICATE)
            if not made or not self._serves(made[-1], key, authority):
                line = self._certified(key, authority)
                await secrets.add_secret(session, self._vault, HOST_CERTIFICATE, line, self._now())
                log.info("certified the ssh host key %s", key.get_fingerprint())

    def _serves(self, row: SecretRow, key: asyncssh.SSHKey, authority: asyncssh.SSHKey) -> bool:
        """Whether the certificate at hand is for this key, from this authority, and good for a while."""
        certificate = asyncssh.import_certificate(self._vault.open(f"secret:{HOST_CERTIFICATE}", row.value_sealed))
        return (
            isinstance(certificate, SSHOpenSSHCertificate)
            and certificate.key.public_data == key.public_data
            and certificate.signing_key.public_data == authority.public_data
            and row.created_at + LIFE_S - self._now() > RENEW_S
        )

    def _certified(self, key: asyncssh.SSHKey, authority: asyncssh.SSHKey) -> str:
        now = int(self._now())
        certificate = authority.generate_host_certificate(
            key,
            "starlight-gateway",
            principals=_EVERY_NAME,
            valid_after=max(0, now - _SLACK_S),
            valid_before=now + int(LIFE_S),
        )
        return str(certificate.export_certificate().decode())

    def _authority(self) -> asyncssh.SSHKey:
        """The key that signs; made at the first look."""
        path = self._folder / AUTHORITY_FILE
        if not path.exists():
            made = asyncssh.generate_private_key("ssh-ed25519", comment="starlight-gateway").export_private_key()
            _write(path, made)
        return asyncssh.import_private_key(path.read_bytes())


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, and never readable by others."""
    half = path.with_name(f"{path.name}.new")
    half.unlink(missing_ok=True)
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    half.rename(path)
