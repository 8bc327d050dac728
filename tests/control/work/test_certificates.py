"""What gateways need to speak for us is made once, and renewed in time."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import asyncssh

from certs.local_ca import LEAF_LIFE
from certs.store import load_or_make
from control.clock import utcnow
from control.store import feed, secrets
from control.store.engine import Database
from control.store.secrets import Vault
from control.work.certificates import BASE, Certificates
from tests.control.work.conftest import Clock

VAULT = Vault(b"k" * 32)
NAMES = ("proxy.localhost", "*.proxy.localhost")


async def test_secrets_and_certificate_are_made_once(db: Database, tmp_path: Path) -> None:
    """A second look changes nothing."""
    load_or_make(tmp_path, NAMES, now=utcnow())
    keeper = Certificates(db, VAULT, tmp_path, NAMES, Clock(utcnow().timestamp()).now)
    await keeper.look()
    async with db.read() as session:
        before = await feed.latest(session)
        host_key = (await secrets.secrets_of(session, "ssh-host"))[0].value_sealed
        assert len(await secrets.secrets_of(session, "ticket")) == 1
    assert asyncssh.import_private_key(VAULT.open("secret:ssh-host", host_key)).get_algorithm() == "ssh-ed25519"
    await keeper.look()
    async with db.read() as session:
        assert await feed.latest(session) == before


async def test_certificate_is_renewed_before_it_ends(db: Database, tmp_path: Path) -> None:
    """A month ahead."""
    load_or_make(tmp_path, NAMES, now=utcnow())
    clock = Clock(utcnow().timestamp())
    keeper = Certificates(db, VAULT, tmp_path, NAMES, clock.now)
    await keeper.look()
    clock.seconds += (LEAF_LIFE - timedelta(days=20)).total_seconds()
    await keeper.look()
    async with db.read() as session:
        row = await secrets.certificate(session, BASE)
    assert row is not None
    assert row.not_after > clock.seconds + timedelta(days=80).total_seconds()


async def test_missing_authority_does_not_keep_control_from_starting(db: Database, tmp_path: Path) -> None:
    """http and ssh are served without it."""
    await Certificates(db, VAULT, tmp_path, NAMES, Clock().now).look()
    async with db.read() as session:
        assert await secrets.certificate(session, BASE) is None
        assert len(await secrets.secrets_of(session, "ticket")) == 1
