"""Where the command line is signed in."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from control.cli.login import Login, load, save


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a person whose home is empty."""
    return {"HOME": str(tmp_path)}


def test_a_login_is_read_back(home: dict[str, str]) -> None:
    """With all that it holds; the newest one wins."""
    save(home, Login("http://old", "sl_old"))
    login = Login("https://console.example", "sl_new", "alice", "/etc/ca.pem")
    path = save(home, login)
    assert load(home) == login
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "sl_new" not in repr(login)


def test_a_leftover_of_an_interrupted_save_does_no_harm(home: dict[str, str]) -> None:
    """Even one that everyone could read."""
    path = save(home, Login("http://a", "sl_a"))
    leftover = path.with_suffix(".new")
    leftover.write_text("half")
    leftover.chmod(0o644)
    save(home, Login("http://b", "sl_b"))
    assert load(home) == Login("http://b", "sl_b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_environment_wins(home: dict[str, str]) -> None:
    """A token there goes to the address there, or to the stored one; another address never gets the stored token."""
    save(home, Login("http://stored", "sl_stored"))
    assert load(home | {"STARLIGHT_URL": "http://x", "STARLIGHT_TOKEN": "sl_x"}) == Login("http://x", "sl_x")
    assert load(home | {"STARLIGHT_TOKEN": "sl_x"}) == Login("http://stored", "sl_x")
    assert load(home | {"STARLIGHT_URL": "http://stored"}) == Login("http://stored", "sl_stored")
    assert load(home | {"STARLIGHT_URL": "http://evil"}) is None


def test_no_login_and_a_broken_one_are_told_apart(home: dict[str, str]) -> None:
    """The one is usual, the other is a fault to be told."""
    assert load(home) is None
    save(home, Login("http://a", "sl_a")).write_text('{"url": 1')
    with pytest.raises(ValueError, match=r"login\.json"):
        load(home)
