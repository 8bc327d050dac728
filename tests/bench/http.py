"""The gateway beside what people would pick: `make bench ARGS=http`. CPU time of the proxy for each unit of work.

The product runs whole (one web process, pinned to core 0; a private entry, a valid cookie); each peer proxies
the same app without checking anything. Candidates alternate within a round; a figure is the median of the rounds.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.cost import LOAD_CORE, pinned
from tests.bench.door import APP, open_door
from tests.bench.peers import Peer, peers
from tests.bench.rounds import Work, compare
from tests.system.product import free_ports

LOAD_S = 2
GIB = 1 << 30
ECHO_CONNECTIONS = 50
ECHOES = 400


def main(folder: Path) -> None:
    """Prints one table a kind of work: CPU per unit, and its ratio to plain nginx."""
    with candidates(folder) as all_of_them:
        for work, absent in WORK:
            compare(work, [peer for peer in all_of_them if peer.name not in absent], "nginx plain")


# The kinds of work.


def small(peer: Peer, *more: str) -> int:
    """Requests answered to wrk within LOAD_S seconds over 32 connections."""
    fields = [f"Host: {peer.host}", f"Cookie: {peer.cookie}", "Accept: text/html", "User-Agent: wrk", *more]
    headers = [part for field in fields for part in ("-H", field)]
    command = ["wrk", "-t1", "-c32", f"-d{LOAD_S}s", *headers, f"http://127.0.0.1:{peer.port}/small?x=1"]
    said = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    found = re.search(r"(\d+) requests in", said)
    return int(found[1]) if found else 0


def closing(peer: Peer) -> int:
    """The same with a new connection for each request."""
    return small(peer, "Connection: close")


def download(peer: Peer) -> int:
    """1 GiB from the app."""
    with connected(peer, f"GET /bytes/{GIB}") as sock:
        taken(sock, peer.name)
    return 1


def upload(peer: Peer) -> int:
    """1 GiB to the app."""
    with connected(peer, "POST /", f"Content-Length: {GIB}\r\n") as sock:
        piece = bytes(1 << 20)
        for _ in range(GIB >> 20):
            sock.sendall(piece)
        assert head_of(sock)[0].startswith(b"HTTP/1.1 200")
    return 1


def taken(sock: socket.socket, name: str) -> None:
    """Reads an answer of 1 GiB."""
    buffer, left = bytearray(1 << 20), GIB
    left -= len(head_of(sock)[1])
    while left > 0 and (count := sock.recv_into(buffer)):
        left -= count
    assert left == 0, f"{name}: {left} bytes are missing"


def echoes(peer: Peer) -> int:
    """Round trips of 70 bytes through 50 WebSockets."""

    def one() -> None:
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
        upgrade += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        with connected(peer, "GET /tunnel", upgrade) as sock:
            assert head_of(sock)[0].startswith(b"HTTP/1.1 101")
            frame = b"\x82\xc0" + bytes(4) + bytes(64)  # binary, masked by zeros, 64 bytes
            for _ in range(ECHOES):
                sock.sendall(frame)
                left = len(frame)
                while left:
                    left -= len(sock.recv(left))

    threads = [threading.Thread(target=one) for _ in range(ECHO_CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ECHO_CONNECTIONS * ECHOES


_TUNED = ("nginx, 64 KiB buffers",)
_ASKING = ("nginx + auth_request", "caddy + forward_auth")
_BULK = (*_ASKING, "caddy", "configurable-http-proxy")
WORK = [
    (Work("Small requests, keep-alive", small, "CPU us/request", 1e6), _TUNED),
    (Work("A new connection for each request", closing, "CPU us/request", 1e6), _TUNED),
    (Work("WebSocket echo, 64 bytes", echoes, "CPU us/round trip", 1e6), _TUNED + _ASKING),
    (Work("Download of 1 GiB", download, "CPU s/GiB"), _BULK),
    (Work("Upload of 1 GiB", upload, "CPU s/GiB"), _BULK),
]
"""Each kind of work, and the peers to which it would say nothing."""


@contextmanager
def connected(peer: Peer, start: str, more: str = "") -> Iterator[socket.socket]:
    """A connection on which a request's head was sent."""
    with socket.create_connection(("127.0.0.1", peer.port), timeout=60) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(f"{start} HTTP/1.1\r\nHost: {peer.host}\r\nCookie: {peer.cookie}\r\n{more}\r\n".encode())
        yield sock


def head_of(sock: socket.socket) -> tuple[bytes, bytes]:
    """The answer's head and what of its body came with it."""
    head = b""
    while b"\r\n\r\n" not in head:
        received = sock.recv(1 << 16)
        assert received, head
        head += received
    start, _, rest = head.partition(b"\r\n\r\n")
    return start, rest


# Who is compared.


@contextmanager
def candidates(folder: Path) -> Iterator[list[Peer]]:
    """The gateway first, then every peer; the load, this process included, on core 1."""
    with upstream() as app, open_door(folder) as door, peers(folder, app) as others:
        yield [door.plain(), *others]


@contextmanager
def upstream() -> Iterator[int]:
    """The app beside the job, for the peers; its port. This process is on the load's core from now on."""
    os.sched_setaffinity(0, {LOAD_CORE})
    (port,) = free_ports(1)
    process = subprocess.Popen(pinned(LOAD_CORE, [sys.executable, "-c", APP, str(port)]), stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"serving\n"
        yield port
    finally:
        process.terminate()
        process.wait(timeout=10)
