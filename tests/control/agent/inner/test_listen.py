"""Listeners for a visitor's way back, made on this machine as they are in a job."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from control.agent.inner.listen import Listening, listen

COOKIE = "0a" * 16


def left_by(listening: Listening) -> None:
    """The visitor goes: what it was handed is closed, and the lifeline tells."""
    listening.handed_over()
    assert listening.lifeline is not None
    listening.lifeline.settimeout(5)
    assert listening.lifeline.recv(1) == b""
    listening.clean()


def test_a_free_port_is_found_on_loopback_in_both_families() -> None:
    """The same number on both, told to the visitor; nothing but their descriptors goes with them."""
    listening = listen({"port": 0})
    port = listening.result["port"]
    assert [sock.getsockname()[:2] for sock in listening.sockets] == [("127.0.0.1", port), ("::1", port)]
    assert len(listening.descriptors()) == listening.result["listeners"] == 2
    listening.handed_over()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


def test_a_taken_port_is_an_error() -> None:
    """Nothing is shared with who listens already."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        listen({"port": taken.getsockname()[1]})


def test_a_unix_socket_is_its_owners_and_goes_with_the_visitor(tmp_path: Path) -> None:
    """Mode 0600; what lies at the path is not replaced; the file ends when the visitor's descriptors do."""
    path = tmp_path / "back.sock"
    listening = listen({"path": str(path)})
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OSError, match="in use"):
        listen({"path": str(path)})
    assert len(listening.descriptors()) == 2
    left_by(listening)
    assert not path.exists()


def test_what_somebody_put_in_the_sockets_place_stays(tmp_path: Path) -> None:
    """A file of the job's own at that path is not the visitor's to take away."""
    path = tmp_path / "back.sock"
    listening = listen({"path": str(path)})
    listening.descriptors()
    kept = tmp_path / "kept"
    kept.write_text("mine")
    os.rename(kept, path)
    left_by(listening)
    assert path.read_text() == "mine"


def test_the_agents_socket_lies_in_a_directory_of_its_own() -> None:
    """Nobody else looks into it, and it goes whole."""
    listening = listen({"agent": True})
    path = Path(listening.result["path"])
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    listening.descriptors()
    left_by(listening)
    assert not path.parent.exists()


def test_displays_get_numbers_from_ten_and_a_file_with_the_cookie() -> None:
    """Two at a time get two numbers; the cookie's file is its owner's alone and goes with the display."""
    wanted = {"display": {"protocol": "MIT-MAGIC-COOKIE-1", "cookie": COOKIE, "screen": 1}}
    first, second = listen(wanted), listen(wanted)
    numbers = [int(one.result["display"].removeprefix("localhost:").removesuffix(".1")) for one in (first, second)]
    assert 10 <= numbers[0] < numbers[1]
    assert first.result["port"] == 6000 + numbers[0]
    file = Path(first.result["xauthority"])
    assert file.stat().st_mode & 0o777 == 0o600
    assert bytes.fromhex(COOKIE) in file.read_bytes()
    for one in (first, second):
        one.descriptors()
        left_by(one)
    assert not file.exists()


@pytest.mark.parametrize("request_", [{"path": "/no/such/place/s"}, {"path": "x" * 200}])
def test_what_cannot_be_is_an_oserror(request_: dict[str, str]) -> None:
    """No such directory, a path longer than a socket's address."""
    with pytest.raises(OSError) as fault:  # noqa: PT011 - of several kinds
        listen(request_)
    assert fault.value.errno in (errno.ENOENT, None)
