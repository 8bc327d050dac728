"""Connections from inside the job to other machines, for a visitor's `ssh -L` or `-D`: as far as the job gets.

Names are looked up, and that blocks: each attempt is a child of its own, which hands the connected
socket over or says why there is none.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Final

_CONNECT_S: Final = 10.0
_WORDS_BYTES: Final = 500


def reach(host: str, port: int) -> socket.socket:
    """Begins an attempt; the socket returned has a message once it is decided. Raises OSError when none can begin."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        pid = os.fork()
    except OSError:
        ours.close()
        theirs.close()
        raise
    if pid == 0:
        _attempt(theirs, host, port)
    theirs.close()
    return ours


def reached(told: socket.socket) -> tuple[int | None, str]:
    """What came of the attempt: the connected socket's descriptor, or None and why."""
    message, descriptors, _, _ = socket.recv_fds(told, _WORDS_BYTES, 1)
    if descriptors:
        return descriptors[0], ""
    return None, message.decode("utf-8", "replace") or "the attempt ended without a word"


def _attempt(told: socket.socket, host: str, port: int) -> None:
    try:
        with suppress(OSError):
            try:
                with socket.create_connection((host, port), _CONNECT_S) as sock:
                    socket.send_fds(told, [b"connected"], [sock.fileno()])
            except (OSError, ValueError) as fault:
                told.send(f"{host}: {fault}".encode("utf-8", "replace")[:_WORDS_BYTES])
    finally:
        os._exit(0)  # never back into the loop of the parent, whatever was raised
