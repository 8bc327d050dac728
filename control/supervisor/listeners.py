"""The listening sockets of the whole platform: bound here, lent to workers, kept while workers come and go.

Because the supervisor holds every listener, a client that comes while a worker is being replaced waits in
the backlog instead of being refused. State: one socket a name, one a random port.
"""

from __future__ import annotations

import errno
import os
import resource
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from control.config import PREFIX, Settings
from control.setting_values import PortRange
from control.supervisor.holder import holder_of
from control.supervisor.identity import Identities
from gateway.contract.calls import listen

SUPERVISOR_SOCKET: Final = "supervisor.sock"
TCP_NAMES: Final = ("console", "http", "https", "ssh", "tcp")
ACME_NAMES: Final = ("acme_http", "acme_tls")
"""Where certificate authorities look at domains; bound when settings name ports for it."""
UNIX_NAMES: Final = ("control", "feed", "bridge-local")
FRESH_S: Final = 30.0
"""Seconds for which a port stays bound whatever is said of it: its entry may still be on its way into the database."""
_BACKLOG: Final = 4096
"""Clients that wait while a worker is replaced; the kernel cuts it to net.core.somaxconn."""


class PortsBusyError(OSError):
    """Ports that could not be bound; one sentence for each."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__("; ".join(sentences))
        self.sentences = tuple(sentences)


class Listeners:
    """Every listener of one instance. Closed together by `close`."""

    def __init__(self, host: str, random_ports: PortRange, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._random_ports = random_ports
        self._by_name: dict[str, socket.socket] = {}
        self._by_port: dict[int, socket.socket] = {}
        self._bound_at: dict[int, float] = {}
        self._clock = clock

    def bind_ports(self, settings: Settings, names: Iterable[str] = TCP_NAMES) -> None:
        """Binds the fixed ports, and those for certificate authorities that the settings name.

        Raises PortsBusyError that names every one it could not get, and its holder.
        """
        sentences = []
        for name in (*names, *settings.acme_ports):
            host = settings.console_host if name == "console" else settings.host
            port = getattr(settings, f"{name}_port")
            try:
                self._by_name[name] = _bind(host, port)
            except OSError as fault:
                sentences.append(f"{_reason(fault, host, port)}. {PREFIX}{name.upper()}_PORT sets another")
        if sentences:
            self.close()
            raise PortsBusyError(sentences)

    def bind_sockets(self, run_dir: Path, who: Identities, names: Iterable[str] = UNIX_NAMES) -> None:
        """Binds the Unix sockets in `run_dir`, each reachable by those who need it and root alone."""
        for name in names:
            path = run_dir / f"{name}.sock"
            # The bridge answers in whole messages that carry descriptors; the other two are streams.
            kind = socket.SOCK_SEQPACKET if name == "bridge-local" else socket.SOCK_STREAM
            self._by_name[name] = listen(str(path), mode=0o600, kind=kind)
            if name == "bridge-local":
                who.share(path)
            else:
                who.give(path, who.gateway_uid)

    def lend(self, name: str) -> int:
        """A duplicate of the named listener's descriptor, now the caller's. Raises KeyError for an unknown name."""
        return os.dup(self._by_name[name].fileno())

    def lend_port(self, port: int) -> int:
        """A duplicate of a random port's listener, bound on first asking. Raises what `reserve` raises."""
        self.reserve(port)
        return os.dup(self._by_port[port].fileno())

    def reserve(self, port: int) -> None:
        """Binds a random port; a bound one stays. Raises ValueError outside the range, PortsBusyError when taken."""
        if port not in self._random_ports:
            raise ValueError(f"{port} is not within the random ports {self._random_ports}")
        if port in self._by_port:
            return
        if len(self._by_port) >= _most_random_ports():
            raise PortsBusyError([f"all {len(self._by_port)} random ports that this process can hold are in use"])
        try:
            self._by_port[port] = _bind(self._host, port)
        except OSError as fault:
            raise PortsBusyError([_reason(fault, self._host, port)]) from fault
        self._bound_at[port] = self._clock()

    def release(self, port: int) -> None:
        """Gives a random port up; one that is not held is no fault."""
        held = self._by_port.pop(port, None)
        if held is not None:
            held.close()
            del self._bound_at[port]

    def keep(self, ports: set[int], among: range) -> None:
        """Gives up all random ports among these but `ports`, and but those bound less than FRESH_S ago.

        A gateway that asks for a port which was released a moment ago has it bound again, and control may die
        between reserving one and writing its entry: without this nobody would ever release them.
        """
        before = self._clock() - FRESH_S
        for port in [port for port in self._by_port if port in among and port not in ports]:
            if self._bound_at[port] <= before:
                self.release(port)

    def close(self) -> None:
        """Closes every listener; what workers hold is theirs."""
        for held in (*self._by_name.values(), *self._by_port.values()):
            held.close()
        self._by_name.clear()
        self._by_port.clear()
        self._bound_at.clear()


def _most_random_ports() -> int:
    # Half of the open files: the other half serves calls, logs and everything else that must go on.
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(host != "::"))
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _reason(fault: OSError, host: str, port: int) -> str:
    if fault.errno == errno.EADDRINUSE:
        return f"port {port} is taken by {holder_of(port)}"
    if fault.errno == errno.EACCES:
        return f"port {port} is below 1024: only root may listen there"
    if fault.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine, so port {port} cannot listen there"
    return f"port {port} on {host} cannot be listened on: {os.strerror(fault.errno or 0)}"
