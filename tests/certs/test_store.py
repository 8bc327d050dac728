"""Where the local authority is kept: modes, second starts, and starts after a crash."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs import store
from certs.store import CERTIFICATE_FILE, KEY_FILE, load_authority, load_or_make, machine_roots, write_private

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("proxy.test", "*.proxy.test")


def test_the_authority_is_made_once(tmp_path: Path) -> None:
    """A second start finds what the first made, so that people need to trust it only once."""
    first, new = load_or_make(tmp_path, NAMES, now=NOW)
    again, newer = load_or_make(tmp_path, NAMES, now=NOW)
    assert (new, newer) == (True, False)
    assert first == again == load_authority(tmp_path)


def test_the_key_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """0600 for the key, 0644 for what everybody may trust, and no draft left behind."""
    load_or_make(tmp_path, NAMES, now=NOW)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / CERTIFICATE_FILE).stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == [KEY_FILE, CERTIFICATE_FILE]


@pytest.mark.parametrize("lost", [KEY_FILE, CERTIFICATE_FILE])
def test_half_a_pair_counts_as_nothing(tmp_path: Path, lost: str) -> None:
    """A start that was interrupted between the two files is mended by the next."""
    load_or_make(tmp_path, NAMES, now=NOW)
    (tmp_path / lost).unlink()
    assert load_authority(tmp_path) is None
    assert load_or_make(tmp_path, NAMES, now=NOW)[1]
    assert load_authority(tmp_path) is not None


def test_a_torn_or_foreign_pair_counts_as_nothing(tmp_path: Path) -> None:
    """A key that is not the certificate's is never used to sign."""
    load_or_make(tmp_path, NAMES, now=NOW)
    other = tmp_path / "other"
    other.mkdir()
    foreign, _ = load_or_make(other, NAMES, now=NOW)
    write_private(tmp_path / KEY_FILE, foreign.key_pem)
    assert load_authority(tmp_path) is None
    (tmp_path / KEY_FILE).write_bytes(b"\xff\xfe")
    assert load_authority(tmp_path) is None


def test_another_base_domain_needs_another_authority(tmp_path: Path) -> None:
    """The constraints of the old one would not let it sign the new names."""
    load_or_make(tmp_path, NAMES, now=NOW)
    authority, new = load_or_make(tmp_path, ("apps.example",), now=NOW)
    assert new
    assert load_authority(tmp_path) == authority


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """Writing replaces a symbolic link instead of writing through it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "secret").symlink_to(elsewhere)
    write_private(tmp_path / "secret", "new")
    assert elsewhere.read_text() == "mine"
    assert (tmp_path / "secret").read_text() == "new"


def test_the_machines_roots_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An odd one costs no other; a machine without a store trusts nobody."""
    authority, _ = load_or_make(tmp_path, NAMES, now=NOW)
    odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (tmp_path / "roots.pem").write_text(odd + authority.certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "roots.pem"))
    assert len(machine_roots()) == 1
    monkeypatch.setattr(store, "_DEBIAN_ROOTS", str(tmp_path / "none"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    assert machine_roots() == ()
