"""By which keys people know the ssh gateway: for known_hosts, for the DNS, and to compare by eye."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

import asyncssh
from asyncssh.public_key import SSHOpenSSHCertificate

from control.actions.context import Context
from control.actions.doors import ssh_host
from control.store import secrets
from control.store.secrets import HOST, HOST_CERTIFICATE

_SSH_PORT: Final = 22
_DNS_ALGORITHMS: Final = {"ssh-rsa": 1, "ecdsa-sha2-nistp256": 3, "ssh-ed25519": 4}
"""RFC 4255 and 6594, 7479; 2 is SHA-256."""


@dataclass(frozen=True, slots=True)
class HostKey:
    """One key: `fingerprint` as OpenSSH writes it, `sshfp` the data of its DNS record, None where there is none."""

    public_key: str
    fingerprint: str
    sshfp: str | None


@dataclass(frozen=True, slots=True)
class Known:
    """What known_hosts needs: the place, the keys that it has, and the authority that vouches for jobs behind it."""

    place: str
    keys: tuple[HostKey, ...]
    authority: HostKey | None

    def lines(self, names: tuple[str, ...] = ()) -> list[str]:
        """Lines of known_hosts; `names` are jobs that a jump reaches."""
        found = [f"{self.place} {key.public_key}" for key in self.keys]
        if self.authority is not None:
            found.append(f"@cert-authority {','.join((self.place, *names))} {self.authority.public_key}")
        return found


async def known(ctx: Context) -> Known:
    """The keys of today, and those that were given up for them and may still be met."""
    async with ctx.db.read() as session:
        hosts = [ctx.vault.open(f"secret:{HOST}", row.value_sealed) for row in await secrets.secrets_of(session, HOST)]
        made = [
            ctx.vault.open(f"secret:{HOST_CERTIFICATE}", row.value_sealed)
            for row in await secrets.secrets_of(session, HOST_CERTIFICATE)
        ]
    keys = tuple(_shown(asyncssh.import_private_key(host)) for host in reversed(hosts))
    newest = asyncssh.import_certificate(made[-1]) if made else None
    authority = _shown(newest.signing_key) if isinstance(newest, SSHOpenSSHCertificate) else None
    return Known(place_of(ssh_host(ctx.settings), ctx.settings.ssh_port), keys, authority)


def place_of(host: str, port: int) -> str:
    """A server as known_hosts names it (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT)."""
    return host if port == _SSH_PORT else f"[{host}]:{port}"


def _shown(key: asyncssh.SSHKey) -> HostKey:
    algorithm = key.get_algorithm()
    line = " ".join(key.export_public_key().decode().split()[:2])
    number = _DNS_ALGORITHMS.get(algorithm)
    digest = hashlib.sha256(key.public_data).hexdigest()
    return HostKey(line, key.get_fingerprint(), None if number is None else f"{number} 2 {digest}")
