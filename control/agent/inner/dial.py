"""Connections to the job's own listeners, made from inside its network namespace."""

from __future__ import annotations

import errno
import os
import socket
from typing import Any, Final

LOOPBACK: Final = ("127.0.0.1", "::1")
_WAITING: Final = (errno.EINPROGRESS, errno.EAGAIN)


class Dial:
    """One attempt after the other, none of them waited for: the caller watches `sock` and says when it is writable."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.id = request["id"]
        self.sock: socket.socket | None = None
        self.fault = "nothing to connect to"
        self._path = request.get("path")
        self._port = int(request.get("port", 0))
        self._addresses = [None] if self._path else [*LOOPBACK, *map(str, request.get("addresses", ()))]

    def next(self) -> bool:
        """Begins the next attempt; False when there is none left (`fault` says why the last one failed)."""
        self.close()
        while self._addresses:
            address = self._addresses.pop(0)
            try:
                self.sock = self._begin(address)
                return True
            except OSError as fault:
                self.fault = f"{self._path or address}: {fault.strerror}"
        return False

    def succeeded(self) -> bool:
        """Whether the attempt that became writable is a connection."""
        assert self.sock is not None
        number = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        self.fault = os.strerror(number)
        return number == 0

    def close(self) -> None:
        """Lets the attempt go."""
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def _begin(self, address: str | None) -> socket.socket:
        family = socket.AF_UNIX if address is None else socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        number = sock.connect_ex(str(self._path) if address is None else (address, self._port))
        if number not in (0, *_WAITING):
            sock.close()
            raise OSError(number, os.strerror(number))
        return sock
