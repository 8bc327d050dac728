"""Attempts to connect, one after the other."""

from __future__ import annotations

import select
import socket
from pathlib import Path

from control.agent.inner.dial import Dial


def settled(dial: Dial) -> bool:
    """Whether the dial gets a connection, trying everything it has."""
    while dial.next():
        assert dial.sock is not None
        select.select([], [dial.sock], [], 5)
        if dial.succeeded():
            return True
    return False


def test_ipv4_comes_first_and_ipv6_is_tried() -> None:
    """An app on ::1 alone is found."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        dial = Dial({"id": 1, "port": listener.getsockname()[1]})
        assert settled(dial)
        assert dial.sock is not None
        assert dial.sock.family == socket.AF_INET6
        dial.close()


def test_an_app_on_the_namespaces_address_is_found() -> None:
    """Given addresses are tried after loopback."""
    with socket.create_server(("127.0.0.9", 0)) as listener:
        dial = Dial({"id": 1, "port": listener.getsockname()[1], "addresses": ["127.0.0.9"]})
        assert settled(dial)
        dial.close()


def test_a_unix_socket_is_dialled_by_path(tmp_path: Path) -> None:
    """No address of another family is tried for a path."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "app.sock"))
        listener.listen()
        dial = Dial({"id": 1, "path": str(tmp_path / "app.sock")})
        assert settled(dial)
        dial.close()


def test_nobody_there_is_told_in_words(tmp_path: Path) -> None:
    """The last reason is kept; nothing stays open."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    dial = Dial({"id": 1, "port": port})
    assert not settled(dial)
    assert "refused" in dial.fault.lower()
    assert dial.sock is None
    gone = Dial({"id": 1, "path": str(tmp_path / "none.sock")})
    assert not settled(gone)
    assert "No such file" in gone.fault
