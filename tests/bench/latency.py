"""What a proxy adds to the time of a request at 500 requests a second: `make bench ARGS=latency`.

16 keep-alive connections take turns, each request at its own time, whether or not the former one was answered. What
the app alone takes is subtracted. Times of the clock swing with whatever else runs: the best round is told, too.
"""

from __future__ import annotations

import selectors
import socket
import statistics
import time
from collections import deque
from pathlib import Path
from typing import Final

from tests.bench.door import open_door
from tests.bench.http import upstream
from tests.bench.peers import Peer, peers
from tests.bench.rounds import ROUNDS, head

RATE: Final = 500
CONNECTIONS: Final = 16
RIVALS: Final = ("nginx plain", "nginx + auth_request", "haproxy", "caddy")
FOR_S: Final = 2.0
ANSWER_END: Final = b"x" * 8


def main(folder: Path) -> None:
    """Prints one table: median and 99th percentile of the rounds, and what was added."""
    with upstream() as app, open_door(folder) as door, peers(folder, app) as others:
        rivals = [peer for peer in others if peer.name in RIVALS]
        compare([Peer("direct", app, 0), door.plain(), *rivals])


def compare(all_of_them: list[Peer]) -> None:
    """Runs the rounds; a figure is the median of the rounds."""
    began = time.monotonic()
    middles: dict[str, list[float]] = {peer.name: [] for peer in all_of_them}
    tails: dict[str, list[float]] = {peer.name: [] for peer in all_of_them}
    for number in range(ROUNDS + 1):
        for peer in all_of_them:
            times = Pace(peer).run()
            if number:
                middles[peer.name].append(times[len(times) // 2])
                tails[peer.name].append(times[len(times) * 99 // 100])
    head(f"Latency at {RATE} requests/s over {CONNECTIONS} connections", time.monotonic() - began)
    print("| candidate | p50 us | added p50 us | added, best rounds | p99 us | rounds p50 |\n|---|---|---|---|---|---|")
    direct = middles["direct"]
    for name, own in middles.items():
        middle, tail = statistics.median(own), statistics.median(tails[name])
        added, best = middle - statistics.median(direct), min(own) - min(direct)
        raw = " ".join(f"{each:.0f}" for each in own)
        print(f"| {name} | {middle:.0f} | {added:.0f} | {best:.0f} | {tail:.0f} | {raw} |", flush=True)


class Pace:
    """Requests at a fixed rate to one candidate."""

    def __init__(self, peer: Peer) -> None:
        self._name = peer.name
        self._head = f"GET /small HTTP/1.1\r\nHost: {peer.host}\r\nCookie: {peer.cookie}\r\n\r\n".encode()
        self._idle: deque[socket.socket] = deque()
        self._sent: dict[socket.socket, float] = {}
        self._seen: dict[socket.socket, int] = {}
        self._selector = selectors.DefaultSelector()
        self._times: list[float] = []
        for _ in range(CONNECTIONS):
            sock = socket.create_connection(("127.0.0.1", peer.port), timeout=60)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(sock, selectors.EVENT_READ)
            self._idle.append(sock)

    def run(self) -> list[float]:
        """Microseconds from each request's own time to the end of its answer, sorted."""
        start = time.perf_counter()
        due, number = start, 0
        while number < RATE * FOR_S or self._sent:
            now = time.perf_counter()
            if number < RATE * FOR_S and now >= due and self._idle:
                self._send(self._idle.popleft(), due)
                number += 1
                due = start + number / RATE
            wait = max(0.0, due - time.perf_counter()) if number < RATE * FOR_S and self._idle else 1.0
            for key, _ in self._selector.select(wait):
                self._read(key.fileobj)  # type: ignore[arg-type]  # only sockets are registered
        for sock in self._idle:
            sock.close()
        self._selector.close()
        return sorted(self._times)

    def _send(self, sock: socket.socket, due: float) -> None:
        self._sent[sock], self._seen[sock] = due, 0
        sock.sendall(self._head)

    def _read(self, sock: socket.socket) -> None:
        received = sock.recv(1 << 16)
        assert received, f"{self._name} hung up"
        assert self._seen[sock] or received.startswith(b"HTTP/1.1 200"), received[:100]
        self._seen[sock] += len(received)
        if received.endswith(ANSWER_END):
            self._times.append((time.perf_counter() - self._sent.pop(sock)) * 1e6)
            self._idle.append(sock)
