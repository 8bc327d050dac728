"""The data directory: made, mended, and closed to all but its readers."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from control.config import Settings, read_settings
from control.supervisor.data import make_run_dir, prepare
from control.supervisor.identity import Identities

ME = Identities(os.geteuid(), os.geteuid(), None)


def made(folder: Path, who: Identities = ME, **extra: str) -> Settings:
    """A data directory made whole."""
    settings = read_settings({"STARLIGHT_DATA_DIR": str(folder), **extra})
    make_run_dir(settings, who)
    prepare(settings, who)
    return settings


def mode(path: Path) -> int:
    """The permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_what_a_start_finds_later_is_what_the_first_made(tmp_path: Path) -> None:
    """Feed key, password and authority stay; a folder that was lost is made again."""
    data = tmp_path / "data"
    settings = made(data)
    first = prepare(settings, ME)
    authority = (data / "ca.pem").read_text()
    (data / "gateway").rmdir()
    assert prepare(settings, ME) == first
    assert (data / "ca.pem").read_text() == authority
    assert (data / "gateway").is_dir()
    assert first.admin_password == (data / "admin-password").read_text().strip()
    assert len(first.feed_key) == 64


def test_secrets_are_their_owner_s_alone(tmp_path: Path) -> None:
    """0600 for the password and keys, 0700 for the folders, 0644 for the certificate to trust."""
    data = tmp_path / "data"
    made(data)
    assert {name: mode(data / name) for name in ("admin-password", "feed.key", "control/tls/ca.key")} == {
        "admin-password": 0o600,
        "feed.key": 0o600,
        "control/tls/ca.key": 0o600,
    }
    assert {mode(data / name) for name in ("control", "gateway", "bridge", "bridge/jobs")} == {0o700}
    assert mode(data / "ca.pem") == 0o644
    assert mode(data) == 0o700


def test_a_given_password_is_not_written_down(tmp_path: Path) -> None:
    """STARLIGHT_ADMIN_PASSWORD is the person's own; no file holds it."""
    data = tmp_path / "data"
    settings = made(data, STARLIGHT_ADMIN_PASSWORD="given password")
    assert prepare(settings, ME).admin_password == "given password"
    assert not (data / "admin-password").exists()
    assert prepare(read_settings({"STARLIGHT_DATA_DIR": str(data)}), ME).admin_password is None


def test_a_password_file_that_was_taken_away_does_not_come_back(tmp_path: Path) -> None:
    """Once read, people delete it; a later start must not write a password that is not the admin's."""
    data = tmp_path / "data"
    settings = made(data)
    (data / "admin-password").unlink()
    assert prepare(settings, ME).admin_password is None
    assert not (data / "admin-password").exists()


def test_another_base_domain_gets_another_authority(tmp_path: Path) -> None:
    """The old one may not sign the new names."""
    data = tmp_path / "data"
    made(data)
    before = (data / "ca.pem").read_text()
    made(data, STARLIGHT_BASE_DOMAIN="apps.example")
    assert (data / "ca.pem").read_text() != before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_with_another_uid_base_everything_changes_hands(tmp_path: Path) -> None:
    """Control and the gateways find their own files again after STARLIGHT_UID_BASE changed."""
    data = tmp_path / "data"
    made(data, Identities(60001, 60002, 61000))
    (data / "control" / "starlight.db").touch()
    (data / "control" / "link").symlink_to("/etc/passwd")
    made(data, Identities(50001, 50002, 51000))
    owners = {path.lstat().st_uid for path in (data / "control", *(data / "control").rglob("*"))}
    assert owners in ({50001}, {50001, 0})
    assert (data / "control" / "starlight.db").stat().st_uid == 50001
    assert Path("/etc/passwd").stat().st_uid == 0
    assert (data / "gateway").stat().st_uid == 50002
    assert mode(data) == 0o711


def test_an_authoritys_bundle_is_copied_to_where_control_can_read_it(tmp_path: Path) -> None:
    """It may lie where only the starter can; one that cannot be read stops the start."""
    bundle = tmp_path / "bundle.pem"
    bundle.write_text("PEM")
    settings = made(tmp_path / "data", STARLIGHT_ACME_CA_BUNDLE=str(bundle))
    assert settings.acme_trusted is not None
    assert settings.acme_trusted.read_text() == "PEM"
    bundle.unlink()
    with pytest.raises(FileNotFoundError, match="bundle"):
        made(tmp_path / "data", STARLIGHT_ACME_CA_BUNDLE=str(bundle))
