"""The vault seals for one purpose, its key file is private, and gateways' secrets lie sealed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from control.store import feed, secrets
from control.store.engine import Database
from control.store.secrets import Vault, load_vault
from control.store.tables import Record

VAULT = Vault(b"k" * 32)


def test_sealed_text_opens_only_for_its_purpose_and_key() -> None:
    """Another purpose, another key, a changed byte: no."""
    sealed = VAULT.seal("share", "秘密")
    assert VAULT.open("share", sealed) == "秘密"
    assert VAULT.seal("share", "秘密") != sealed
    for vault, purpose, text in (
        (VAULT, "other", sealed),
        (Vault(b"x" * 32), "share", sealed),
        (VAULT, "share", "AAAA"),
    ):
        with pytest.raises(ValueError, match="sealed for"):
            vault.open(purpose, text)


def test_hmac_depends_on_purpose_and_key() -> None:
    """The same code is looked up by the same HMAC, and guessing needs the key."""
    assert VAULT.hmac("share", "code") == VAULT.hmac("share", "code")
    assert len({VAULT.hmac("share", "code"), VAULT.hmac("x", "code"), Vault(b"x" * 32).hmac("share", "code")}) == 3


def test_key_file_is_made_once_and_private(tmp_path: Path) -> None:
    """Mode 0600 from the first moment; the next start opens what this one sealed."""
    path = tmp_path / "vault.key"
    sealed = load_vault(path).seal("p", "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_vault(path).open("p", sealed) == "text"


def test_damaged_key_file_is_named(tmp_path: Path) -> None:
    """Making a new one would lose all that was sealed."""
    path = tmp_path / "vault.key"
    path.write_bytes(b"short")
    with pytest.raises(ValueError, match="damaged"):
        load_vault(path)


async def test_secrets_have_generations_and_lie_sealed(db: Database) -> None:
    """In their own table and in the feed's."""
    async with db.write() as session:
        await secrets.add_secret(session, VAULT, "ticket", "first", 1.0)
        second = await secrets.add_secret(session, VAULT, "ticket", "second", 2.0)
        assert [row.generation for row in await secrets.secrets_of(session, "ticket")] == [1, 2]
        assert VAULT.open("secret:ticket", second.value_sealed) == "second"
        record = await session.get_one(Record, ("secret", "ticket-2"))
        assert record.payload is not None
        assert "second" not in str(record.payload)


async def test_certificate_is_replaced_in_place(db: Database) -> None:
    """The same id, a new revision."""
    async with db.write() as session:
        revisions = [
            await secrets.put_certificate(
                session,
                VAULT,
                "base",
                names=["a.example"],
                chain_pem=chain,
                key_pem="PRIVATE",
                not_after=9.0,
                is_default=True,
                now=1.0,
            )
            for chain in ("one", "two")
        ]
        assert revisions[0] < revisions[1] == await feed.latest(session)
        row = await secrets.certificate(session, "base")
        assert row is not None
        assert row.chain_pem == "two"
        assert "PRIVATE" not in row.key_sealed
