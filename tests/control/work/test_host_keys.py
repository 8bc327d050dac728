"""The certificate of the ssh host key is made once and renewed in time."""

from __future__ import annotations

import stat
from pathlib import Path

import asyncssh
from asyncssh.public_key import SSHOpenSSHCertificate

from control.store import secrets
from control.store.engine import Database
from control.store.secrets import HOST, HOST_CERTIFICATE, Vault
from control.work.host_keys import AUTHORITY_FILE, LIFE_S, RENEW_S, HostCertificates
from tests.control.work.conftest import Clock

VAULT = Vault(b"k" * 32)


async def with_key(db: Database) -> asyncssh.SSHKey:
    """A new host key in the database."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    async with db.write() as session:
        await secrets.add_secret(session, VAULT, HOST, key.export_private_key().decode(), 1.0)
    return key


async def certificates(db: Database) -> list[SSHOpenSSHCertificate]:
    """All that were made, oldest first."""
    async with db.read() as session:
        rows = await secrets.secrets_of(session, HOST_CERTIFICATE)
    made = [asyncssh.import_certificate(VAULT.open(f"secret:{HOST_CERTIFICATE}", row.value_sealed)) for row in rows]
    assert all(isinstance(one, SSHOpenSSHCertificate) for one in made)
    return made  # type: ignore[return-value]  # as was just asserted


async def test_the_newest_key_is_certified_once(db: Database, tmp_path: Path) -> None:
    """By an authority whose key nobody else can read; a second look changes nothing, no key is no fault."""
    keeper = HostCertificates(db, VAULT, tmp_path, Clock().now)
    await keeper.look()
    assert await certificates(db) == []
    key = await with_key(db)
    for _ in range(2):
        await keeper.look()
    (made,) = await certificates(db)
    assert made.key.public_data == key.public_data
    assert stat.S_IMODE((tmp_path / AUTHORITY_FILE).stat().st_mode) == 0o600
    authority = asyncssh.import_private_key((tmp_path / AUTHORITY_FILE).read_bytes())
    assert made.signing_key.public_data == authority.public_data


async def test_a_new_key_another_authority_or_an_end_in_sight_makes_a_new_one(db: Database, tmp_path: Path) -> None:
    """Each time the newest counts."""
    clock = Clock()
    keeper = HostCertificates(db, VAULT, tmp_path, clock.now)
    await with_key(db)
    await keeper.look()
    clock.seconds += LIFE_S - RENEW_S - 1
    await keeper.look()
    assert len(await certificates(db)) == 1
    clock.seconds += 2
    await keeper.look()
    assert len(await certificates(db)) == 2
    rotated = await with_key(db)
    await keeper.look()
    assert (await certificates(db))[-1].key.public_data == rotated.public_data
    (tmp_path / AUTHORITY_FILE).unlink()
    await keeper.look()
    assert len(await certificates(db)) == 4
