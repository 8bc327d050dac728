"""Which variables reach a job."""

from typing import cast

import pytest

from gateway.entries.ssh.environment import about_connection, passed_on
from gateway.entries.ssh.protocol import Connection


@pytest.mark.parametrize("name", ["LANG", "LC_ALL", "LC_TIME", "TZ", "COLORTERM", "GIT_PROTOCOL", "EDITOR"])
def test_languages_and_terminal_facts_pass(name: str) -> None:
    """What Debian's sshd accepts, and a few more."""
    assert passed_on([(name.encode(), b"x y")]) == {name: "x y"}


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "BASH_ENV", "LC_X=Y", "LC_\u8bad", "HOME", "", "lang"])
def test_others_do_not(name: str) -> None:
    """Nothing that changes what runs, nothing that is no name."""
    assert passed_on([(name.encode(), b"x")]) == {}


def test_values_that_no_variable_can_hold_are_dropped_or_mended() -> None:
    """A NUL cannot be in a variable; stray bytes become replacement characters."""
    assert passed_on([(b"LANG", b"a\0b"), (b"LC_ALL", b"\xff")]) == {"LC_ALL": "\ufffd"}


class Place:
    """A connection with these addresses."""

    def __init__(self, peer: object, own: object) -> None:
        self.known = {"peername": peer, "sockname": own}

    def get_extra_info(self, name: str) -> object:
        """As asyncssh gives it."""
        return self.known[name]


def test_addresses_are_told_as_sshd_does() -> None:
    """An inner connection has none."""
    outer = cast("Connection", Place(("10.1.2.3", 50000), ("10.0.0.1", 8022)))
    assert about_connection(outer) == {
        "SSH_CONNECTION": "10.1.2.3 50000 10.0.0.1 8022",
        "SSH_CLIENT": "10.1.2.3 50000 8022",
    }
    assert about_connection(cast("Connection", Place("", ""))) == {}
