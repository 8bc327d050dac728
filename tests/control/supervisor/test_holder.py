"""Who holds a port."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from control.supervisor.holder import holder_of


def test_a_listener_is_named_with_its_pid() -> None:
    """This very process, by its command name."""
    own_name = Path("/proc/self/comm").read_text().strip()
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert holder_of(server.getsockname()[1]) == f"{own_name} (pid {os.getpid()})"


def test_a_listener_on_ipv6_is_named() -> None:
    """The second table is looked at too."""
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
        assert f"(pid {os.getpid()})" in holder_of(server.getsockname()[1])


def test_an_outgoing_connection_is_told_as_such() -> None:
    """A port of the kernel's outgoing range may be busy though nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert holder_of(client.getsockname()[1]).startswith("an outgoing connection of ")


def test_what_cannot_be_seen_is_said(tmp_path: Path) -> None:
    """Another user's process: its user is named; a port nobody has: that nothing is seen."""
    (tmp_path / "net").mkdir()
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {} 1\n"
    (tmp_path / "net/tcp").write_text(head + line.format(4711))
    assert holder_of(8080, tmp_path) == "a process of user root"
    assert holder_of(8081, tmp_path) == "a process that cannot be seen from here"
    (tmp_path / "net/tcp").write_text(head + line.format(0))
    assert holder_of(8080, tmp_path) == "a connection that has just ended"
