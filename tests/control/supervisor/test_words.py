"""What the person at the terminal is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.config import read_settings
from control.supervisor.words import banner, ended, language_of, stopped


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_terminal_s_locale_chooses_the_language(environ: dict[str, str], language: str) -> None:
    """POSIX order; an empty variable counts as not set."""
    assert language_of(environ) == language


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_banner_tells_address_ports_password_and_trust(tmp_path: Path, language: str) -> None:
    """All that the contract promises at ready, in both languages, and never the password itself."""
    environ = {"STARLIGHT_DATA_DIR": str(tmp_path), "STARLIGHT_ADMIN_PASSWORD": "not to be shown"}
    settings = read_settings(environ)
    told = banner(settings, language)
    for wanted in (settings.console_url, "8888", "8443", "8022", "8999", "32768-65535", f"{tmp_path}/ca.pem"):
        assert wanted in told
    assert "STARLIGHT_ADMIN_PASSWORD" in told
    assert "not to be shown" not in told


def test_the_banner_follows_the_password_file(tmp_path: Path) -> None:
    """Its path while it is there; nothing to look for once it was taken away."""
    settings = read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)})
    assert "admin-password" not in banner(settings, "en")
    (tmp_path / "admin-password").touch()
    assert f"{tmp_path}/admin-password" in banner(settings, "en")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_stop_tells_which_jobs_live_on_and_how_to_end_them(tmp_path: Path, language: str) -> None:
    """Their number, some of their ids, and the command."""
    settings = read_settings({"STARLIGHT_DATA_DIR": str(tmp_path)})
    told = stopped([f"web-{number}" for number in range(12)], settings, language)
    for wanted in ("12", "web-0", "web-9 ...", "starlight down --jobs", "make stop ARGS=--jobs"):
        assert wanted in told
    assert "--jobs" not in stopped([], settings, language)
    assert str(tmp_path) in stopped(None, settings, language)
    assert "3" in ended(3, language)
