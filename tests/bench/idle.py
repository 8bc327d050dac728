"""Memory per idle WebSocket, and 8,000 of them held by one process: `make bench ARGS=idle`.

Pss of the process tree (/proc/PID/smaps_rollup) before and with them; the kernel's socket memory is not in it. The
process may have 20,000 descriptors, of which each WebSocket takes two. They go through four entries, because one
entry may not take the last places (gateway/core/room.py).
"""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Final

from tests.bench.cost import tree
from tests.bench.door import entry_spec, open_door
from tests.bench.http import head_of, upstream
from tests.bench.peers import Peer, peers
from tests.bench.rounds import head

COUNT: Final = 8000
ENTRIES: Final = 4
ROOM: Final = "9800"
UPGRADE: Final = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
BATCH: Final = 100
WARM: Final = 100
"""Opened and closed before, so that what a process needs once does not count."""


def main(folder: Path) -> None:
    """Prints one table."""
    names = ["web", *(f"web{number}" for number in range(2, ENTRIES + 1))]
    limits = {f"STARLIGHT_MAX_VISITS{what}": ROOM for what in ("", "_PER_ENTRY", "_PER_ADDRESS")}
    doors = [entry_spec(name, "http") for name in names]
    with upstream() as app, open_door(folder, *doors, **limits) as door, peers(folder, app) as others:
        ours = [door.through(name, "HTTP") for name in names]
        began = time.monotonic()
        rivals = [[peer] for peer in others if peer.name in ("nginx plain", "haproxy")]
        rows = [measure(ways) for ways in (ours, *rivals)]
        head(f"{COUNT:,} idle WebSockets in one process", time.monotonic() - began)
        print("| candidate | KiB per WebSocket | Pss before, KiB | Pss with them, KiB | opened in, s | all alive |")
        print("|---|---|---|---|---|---|")
        print("\n".join(rows), flush=True)


def measure(ways: list[Peer]) -> str:
    """Opens them, looks, has each carry a frame, and closes them: the row of the table."""
    hold(ways, WARM)
    time.sleep(2)  # the connections that warmed it are closed and freed by then; no figure is a time
    before, began = pss(ways[0].pid), time.monotonic()
    held: list[socket.socket] = []
    try:
        while len(held) < COUNT:
            held += opened(ways, BATCH)
        took = time.monotonic() - began
        time.sleep(3)  # idle means at rest: what the last handshakes held is freed by then
        after = pss(ways[0].pid)
        alive = sum(echoing(held[start : start + BATCH]) for start in range(0, COUNT, BATCH))
    finally:
        for sock in held:
            sock.close()
    each = (after - before) / COUNT
    return f"| {ways[0].name} | {each:.1f} | {before} | {after} | {took:.1f} | {alive} of {COUNT} |"


def hold(ways: list[Peer], count: int) -> None:
    """Opens some and closes them."""
    held = opened(ways, count)
    assert echoing(held) == count
    for sock in held:
        sock.close()


def opened(ways: list[Peer], count: int) -> list[socket.socket]:
    """So many WebSockets to the app that echoes, asked for at once."""
    asked = []
    for number in range(count):
        peer = ways[number % len(ways)]
        sock = socket.create_connection(("127.0.0.1", peer.port), timeout=60)
        sock.sendall(f"GET /tunnel HTTP/1.1\r\nHost: {peer.host}\r\nCookie: {peer.cookie}\r\n{UPGRADE}\r\n".encode())
        asked.append(sock)
    for sock in asked:
        start = head_of(sock)[0]
        assert start.startswith(b"HTTP/1.1 101"), start
    return asked


def echoing(held: list[socket.socket]) -> int:
    """How many of them bring a frame back."""
    frame, alive = b"\x82\x84" + bytes(4) + b"ping", 0
    for sock in held:
        sock.sendall(frame)
    for sock in held:
        left = len(frame)
        while left and (received := sock.recv(left)):
            left -= len(received)
        alive += not left
    return alive


def pss(root: int) -> int:
    """KiB of the process tree, shared pages by share."""
    total = 0
    for pid in tree(root):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total
