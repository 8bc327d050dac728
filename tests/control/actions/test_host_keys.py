"""What people are told of the ssh gateway's keys."""

from __future__ import annotations

from control.actions.host_keys import HostKey, Known, place_of


def test_a_server_is_named_as_known_hosts_names_it() -> None:
    """With its port, unless that is ssh's own."""
    assert place_of("gate.example.org", 22) == "gate.example.org"
    assert place_of("127.0.0.1", 8022) == "[127.0.0.1]:8022"


def test_lines_of_known_hosts_name_keys_authority_and_jobs() -> None:
    """One line a key; the authority's also names the jobs behind the gateway. Without one there is no such line."""
    key, authority = HostKey("ssh-ed25519 AAAA", "SHA256:a", None), HostKey("ssh-ed25519 BBBB", "SHA256:b", None)
    known = Known("[gate]:8022", (key,), authority)
    assert known.lines(("web-2", "vim-3")) == [
        "[gate]:8022 ssh-ed25519 AAAA",
        "@cert-authority [gate]:8022,web-2,vim-3 ssh-ed25519 BBBB",
    ]
    assert Known("gate", (key,), None).lines() == ["gate ssh-ed25519 AAAA"]
