"""What the gateway offers in a handshake: its host keys, and algorithms that nobody could truncate.

ChaCha20-Poly1305 and CBC are left out: without strict key exchange on both sides, an attacker in
the path may cut off what follows the handshake (Terrapin, CVE-2023-48795), and AES-GCM costs a third
less here. Everything that a client of the last ten years needs remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncssh

from gateway.contract.routes import Secret

LOGIN_GRACE_S: Final = 30.0
KEEPALIVE_S: Final = 30.0
KEEPALIVE_TRIES: Final = 3

_KEY_EXCHANGES: Final = [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group18-sha512",
    "diffie-hellman-group14-sha256",
]
_CIPHERS: Final = ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr"]
_MACS: Final = [
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
]
_USER_KEYS: Final = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "rsa-sha2-512",
    "rsa-sha2-256",
]


HostKey = asyncssh.SSHKey | tuple[asyncssh.SSHKey, asyncssh.SSHCertificate]


class Handshake:
    """Options for new connections. State: those of the newest host keys, made again when these change."""

    def __init__(self) -> None:
        """No keys yet."""
        self._made_of: list[tuple[str, int]] = []
        self._options: asyncssh.SSHServerConnectionOptions | None = None

    async def options(
        self, secrets: Sequence[Secret], certificates: Sequence[Secret] = ()
    ) -> asyncssh.SSHServerConnectionOptions:
        """The options with these host keys, of each kind the newest, and the certificates that fit them.

        Raises ValueError when there are no keys.
        """
        made_of = [(secret.id, secret.generation) for secret in (*secrets, *certificates)]
        if self._options is None or made_of != self._made_of:
            self._options, self._made_of = await _options(certified(newest(secrets), certificates)), made_of
        return self._options


def newest(secrets: Sequence[Secret]) -> list[asyncssh.SSHKey]:
    """Of each algorithm the key of the highest generation; `secrets` come highest first."""
    keys: dict[str, asyncssh.SSHKey] = {}
    for secret in secrets:
        key = asyncssh.import_private_key(secret.value)
        keys.setdefault(key.get_algorithm(), key)
    return list(keys.values())


def certified(keys: Sequence[asyncssh.SSHKey], secrets: Sequence[Secret]) -> list[HostKey]:
    """Each key, with the newest certificate made for it; a client that knows no authority gets the bare key."""
    certificates = [asyncssh.import_certificate(secret.value) for secret in secrets]
    fitting = [next((c for c in certificates if c.key.public_data == key.public_data), None) for key in keys]
    return [key if certificate is None else (key, certificate) for key, certificate in zip(keys, fitting, strict=True)]


async def _options(keys: Sequence[HostKey]) -> asyncssh.SSHServerConnectionOptions:
    if not keys:
        raise ValueError("control gave no ssh host key")
    options: asyncssh.SSHServerConnectionOptions = await asyncssh.SSHServerConnectionOptions.construct(
        server_host_keys=list(keys),
        server_version="Starlight",
        kex_algs=_KEY_EXCHANGES,
        encryption_algs=_CIPHERS,
        mac_algs=_MACS,
        compression_algs=["none"],
        signature_algs=_USER_KEYS,
        login_timeout=LOGIN_GRACE_S,
        keepalive_interval=KEEPALIVE_S,
        keepalive_count_max=KEEPALIVE_TRIES,
        tcp_keepalive=True,
        host_based_auth=False,
        gss_host=None,
        gss_kex=False,
        gss_auth=False,
        rdns_lookup=False,
        x11_forwarding=False,
        agent_forwarding=False,
        line_editor=False,
        encoding=None,
        config=None,
    )
    return options
