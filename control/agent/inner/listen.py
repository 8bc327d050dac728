"""Listeners inside the job for a visitor's way back: `ssh -R`, the agent's socket, the X11 display.

A TCP listener ends with its last descriptor. A Unix socket leaves a file behind, and a display a file with its
cookie: with them goes a lifeline, one end of a socket pair, and its closing takes the files away,
however the visitor's side ended.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import struct
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

_BACKLOG: Final = 128
_FIRST_DISPLAY, _LAST_DISPLAY = 10, 999
_DISPLAY_PORT: Final = 6000
_ANY_ADDRESS: Final = 0xFFFF
"""FamilyWild: whatever the client library takes for this machine's address, the display's number decides."""


@dataclass
class Listening:
    """Sockets that listen, what their visitor is told of them, and the files that go when the visitor does."""

    sockets: list[socket.socket]
    result: dict[str, Any] = field(default_factory=dict)
    directory: str | None = None
    """An own one, which goes with all that is in it."""
    socket_file: tuple[str, int] | None = None
    """Where the socket was bound, and its inode: what somebody put in its place stays."""
    lifeline: socket.socket | None = None

    def descriptors(self) -> list[int]:
        """What to hand over: the listeners, then the visitor's end of the lifeline where there are files."""
        if self.directory is None and self.socket_file is None:
            return [sock.fileno() for sock in self.sockets]
        self.lifeline, theirs = socket.socketpair()
        listeners = [sock.fileno() for sock in self.sockets]
        self.sockets.append(theirs)
        return [*listeners, theirs.fileno()]

    def handed_over(self) -> None:
        """Closes our copies: the listeners live as long as the visitor's."""
        for sock in self.sockets:
            sock.close()

    def clean(self) -> None:
        """The visitor is gone: takes the files away."""
        if self.lifeline is not None:
            self.lifeline.close()
        if self.directory is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
        if self.socket_file is not None:
            path, inode = self.socket_file
            with suppress(OSError):
                if os.lstat(path).st_ino == inode:
                    os.unlink(path)


def listen(request: dict[str, Any]) -> Listening:
    """The listener that a request describes: `port`, `path`, `agent` or `display`. Raises OSError when it cannot be."""
    if "path" in request:
        return _at_path(str(request["path"]))
    if "agent" in request:
        return _agent()
    if "display" in request:
        return _display(request["display"])
    return _on_port(int(request["port"]))


def _on_port(port: int) -> Listening:
    """On loopback, in both families where they are, as sshd does with `GatewayPorts no`."""
    first = _bound(socket.AF_INET, "127.0.0.1", port)
    port = first.getsockname()[1]
    sockets = [first]
    with suppress(OSError):
        sockets.append(_bound(socket.AF_INET6, "::1", port))
    return Listening(sockets, {"port": port, "listeners": len(sockets)})


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _at_path(path: str) -> Listening:
    """A Unix socket that only the job's own uid may use. What lies at the path already is not replaced."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    mask = os.umask(0o177)
    try:
        sock.bind(path)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(mask)
    return Listening([sock], {"path": path, "listeners": 1}, socket_file=(path, os.lstat(path).st_ino))


def _agent() -> Listening:
    directory = tempfile.mkdtemp(prefix="ssh-", dir="/tmp")
    try:
        listening = _at_path(f"{directory}/agent")
    except OSError:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    listening.directory, listening.socket_file = directory, None
    return listening


def _display(wanted: dict[str, Any]) -> Listening:
    """The first free display from 10 on, and a file with its cookie for XAUTHORITY."""
    protocol, cookie = str(wanted["protocol"]).encode(), bytes.fromhex(str(wanted["cookie"]))
    number, listening = _free_display()
    directory = tempfile.mkdtemp(prefix="ssh-", dir="/tmp")
    fields = (b"", str(number).encode(), protocol, cookie)
    with open(f"{directory}/Xauthority", "xb", opener=_own_file) as file:
        file.write(struct.pack("!H", _ANY_ADDRESS) + b"".join(struct.pack("!H", len(f)) + f for f in fields))
    listening.directory = directory
    display = f"localhost:{number}.{int(wanted.get('screen', 0))}"
    listening.result |= {"display": display, "xauthority": f"{directory}/Xauthority"}
    return listening


def _own_file(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _free_display() -> tuple[int, Listening]:
    for number in range(_FIRST_DISPLAY, _LAST_DISPLAY + 1):
        try:
            return number, _on_port(_DISPLAY_PORT + number)
        except OSError as fault:
            if fault.errno != errno.EADDRINUSE:
                raise
    raise OSError(errno.EADDRINUSE, "no display is free")
