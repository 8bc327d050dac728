"""Connections to other machines, each attempt a child of its own."""

from __future__ import annotations

import os
import socket

import pytest

from control.agent.inner.reach import reach, reached


def test_a_connected_socket_is_handed_over() -> None:
    """By name as by number; the child is gone afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for host in ("localhost", "127.0.0.1"):
            with reach(host, listener.getsockname()[1]) as told:
                descriptor, why = reached(told)
            assert why == ""
            assert descriptor is not None
            with listener.accept()[0] as met, socket.socket(fileno=descriptor) as sock:
                sock.send(b"hello")
                assert met.recv(9) == b"hello"
            assert os.wait()[1] == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-name.invalid", "\udcff\udcfe", "a..b"])
def test_what_is_not_reached_says_why(host: str) -> None:
    """Nobody listens, no such name, no name at all: words, and no descriptor."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        unused = probe.getsockname()[1]
    with reach(host, unused) as told:
        descriptor, why = reached(told)
    assert descriptor is None
    assert why
    os.wait()
