"""The platform's listening sockets: lent, reserved, released, and refused with a reason."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.config import read_settings
from control.setting_values import PortRange
from control.supervisor.identity import Identities
from control.supervisor.listeners import FRESH_S, Listeners, PortsBusyError
from tests.control.supervisor.running import PORT_NAMES, free_ports

ME = Identities(os.geteuid(), os.geteuid(), None)


@pytest.fixture
def listeners() -> Iterator[Listeners]:
    """Listeners on loopback, closed with the test."""
    made = Listeners("127.0.0.1", PortRange(1024, 65535))
    yield made
    made.close()


def test_a_lent_listener_accepts_and_the_owner_keeps_its_own(listeners: Listeners) -> None:
    """What a worker got works, and its end does not close the supervisor's."""
    ports = dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
    listeners.bind_ports(read_settings({f"STARLIGHT_{name}_PORT": str(port) for name, port in ports.items()}))
    for _ in range(2):
        with socket.socket(fileno=listeners.lend("http")) as lent:
            lent.settimeout(5)
            with socket.create_connection(("127.0.0.1", ports["HTTP"])):
                lent.accept()[0].close()


def test_ports_for_certificate_authorities_are_bound_when_they_are_named(listeners: Listeners) -> None:
    """One of its own is; one that is the entries' is not bound twice."""
    found = dict(zip((*PORT_NAMES, "ACME_HTTP"), free_ports(len(PORT_NAMES) + 1), strict=True))
    told = {f"STARLIGHT_{name}_PORT": str(port) for name, port in found.items()}
    listeners.bind_ports(read_settings(told | {"STARLIGHT_ACME_TLS_PORT": str(found["HTTPS"])}))
    with socket.socket(fileno=listeners.lend("acme_http")) as lent:
        assert lent.getsockname()[1] == found["ACME_HTTP"]
    with pytest.raises(KeyError):
        listeners.lend("acme_tls")


def test_a_random_port_is_bound_once_and_given_up(listeners: Listeners) -> None:
    """Reserving twice is one binding; after release another program can have the port."""
    (port,) = free_ports(1)
    listeners.reserve(port)
    listeners.reserve(port)
    with socket.socket(fileno=listeners.lend_port(port)) as lent:
        assert lent.getsockname()[1] == port
    with pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", port))
    listeners.release(port)
    listeners.release(port)
    socket.create_server(("127.0.0.1", port)).close()


def test_ports_that_nobody_released_are_given_up() -> None:
    """Not those that are kept, lie elsewhere, or were bound just now: their entry may be on its way."""
    now = 100.0
    held = Listeners("127.0.0.1", PortRange(1024, 65535), lambda: now)
    kept, elsewhere, left, fresh = free_ports(4)
    try:
        for port in (kept, elsewhere, left):
            held.reserve(port)
        now += FRESH_S
        held.reserve(fresh)
        held.keep({kept, elsewhere}, range(65_536))
        socket.create_server(("127.0.0.1", left)).close()
        for port in (kept, elsewhere, fresh):
            with pytest.raises(OSError, match="in use"):
                socket.create_server(("127.0.0.1", port))
        held.keep(set(), range(elsewhere, elsewhere + 1))
        socket.create_server(("127.0.0.1", elsewhere)).close()
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", kept))
    finally:
        held.close()


def test_a_taken_port_names_its_holder(listeners: Listeners) -> None:
    """The detail goes to the entry's owner as a condition: it says who is in the way."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(PortsBusyError, match=rf"port {port} is taken by .*\(pid {os.getpid()}\)"):
            listeners.reserve(port)


def test_a_port_outside_the_random_range_is_refused() -> None:
    """A worker cannot make the supervisor, perhaps root, listen on port 22."""
    narrow = Listeners("127.0.0.1", PortRange(40000, 40010))
    with pytest.raises(ValueError, match="not within the random ports 40000-40010"):
        narrow.lend_port(22)


def test_ports_leave_open_files_for_everything_else(listeners: Listeners, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ports are asked for, the supervisor can still answer and start workers."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (4, 4))
    first, second, third = free_ports(3)
    listeners.reserve(first)
    listeners.reserve(second)
    listeners.reserve(first)
    with pytest.raises(PortsBusyError, match="all 2 random ports"):
        listeners.reserve(third)


def test_an_address_of_another_machine_is_told(listeners: Listeners) -> None:
    """A wrong STARLIGHT_HOST is no busy port."""
    away = Listeners("192.0.2.1", PortRange(1024, 65535))
    with pytest.raises(PortsBusyError, match=r"192\.0\.2\.1 is not an address of this machine"):
        away.reserve(free_ports(1)[0])


def test_unix_sockets_are_for_their_users_alone(listeners: Listeners, tmp_path: Path) -> None:
    """Streams for the API and the feed, messages for the bridge; nobody else may connect."""
    listeners.bind_sockets(tmp_path, ME)
    kinds = {}
    for name in ("control", "feed", "bridge-local"):
        with socket.socket(fileno=listeners.lend(name)) as lent:
            kinds[name] = lent.type
        assert stat.S_IMODE((tmp_path / f"{name}.sock").stat().st_mode) == 0o600
    assert kinds == {
        "control": socket.SOCK_STREAM,
        "feed": socket.SOCK_STREAM,
        "bridge-local": socket.SOCK_SEQPACKET,
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give files away")
def test_unix_sockets_belong_to_the_uids_that_use_them(listeners: Listeners, tmp_path: Path) -> None:
    """Gateways reach control and the feed; control and gateways reach the bridge; jobs' uids reach none."""
    listeners.bind_sockets(tmp_path, Identities(60001, 60002, 61000))
    owners = {path.name: (path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()}
    assert owners["control.sock"] == owners["feed.sock"] == (60002, 60002)
    assert owners["bridge-local.sock"] == (60001, 60002)
    assert stat.S_IMODE((tmp_path / "bridge-local.sock").stat().st_mode) == 0o660
