"""The gateway beside what people would pick: `make bench ARGS=http`. CPU time of the proxy for each unit of work.

The product runs whole (one web process, pinned to core 0; a private entry, a valid cookie); each peer proxies
the same app without checking anything. Candidates alternate within a round; a figure is the median of the rounds.
"""

from __future__ import annotations

import json
import os
import re
import socket
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.bench.cost import LOAD_CORE, PROXY_CORE, cpu_s, pinned, tree
from tests.bench.peers import Peer, peers
from tests.system.product import Person, Product, eventually, free_ports, request

APP = (Path(__file__).parent / "upstream.py").read_text()
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
LOAD_S = 2
GIB = 1 << 30
ECHO_CONNECTIONS = 50
ECHOES = 400

Act = Callable[[Peer], int]
"""Puts work on a proxy; returns how many units were done."""


def main(folder: Path) -> None:
    """Prints one table a kind of work: CPU per unit, and its ratio to plain nginx."""
    with candidates(folder) as all_of_them:
        for title, act, unit, scale in WORK:
            told(title, unit, compare(act, all_of_them, scale))


def compare(act: Act, all_of_them: list[Peer], scale: float) -> dict[str, list[float]]:
    """CPU a unit of every candidate, round by round; the first touch warms up and is not counted."""
    rounds: dict[str, list[float]] = {peer.name: [] for peer in all_of_them}
    for number in range(ROUNDS + 1):
        for peer in all_of_them:
            before = cpu_s(peer.pid)
            done = act(peer)
            if number and done:
                rounds[peer.name].append((cpu_s(peer.pid) - before) / done * scale)
    return rounds


def told(title: str, unit: str, rounds: dict[str, list[float]]) -> None:
    """One table, as it stands in README.md."""
    base = statistics.median(rounds["nginx plain"])
    print(f"\n### {title}\n\n| candidate | {unit} | x nginx plain | rounds |\n|---|---|---|---|")
    for name, costs in rounds.items():
        middle = statistics.median(costs) if costs else float("nan")
        raw = " ".join(f"{cost:.3g}" for cost in costs)
        print(f"| {name} | {middle:.3g} | {middle / base:.2f} | {raw} |", flush=True)


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
        buffer, left = bytearray(1 << 20), GIB
        left -= len(head_of(sock)[1])
        while left > 0 and (count := sock.recv_into(buffer)):
            left -= count
        assert left == 0, f"{peer.name}: {left} bytes are missing"
    return 1


def upload(peer: Peer) -> int:
    """1 GiB to the app."""
    with connected(peer, "POST /", f"Content-Length: {GIB}\r\n") as sock:
        piece = bytes(1 << 20)
        for _ in range(GIB >> 20):
            sock.sendall(piece)
        assert head_of(sock)[0].startswith(b"HTTP/1.1 200")
    return 1


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


WORK: list[tuple[str, Act, str, float]] = [
    ("Small requests, keep-alive", small, "CPU us/request", 1e6),
    ("A new connection for each request", closing, "CPU us/request", 1e6),
    ("Download of 1 GiB", download, "CPU s/GiB", 1.0),
    ("Upload of 1 GiB", upload, "CPU s/GiB", 1.0),
    ("WebSocket echo, 64 bytes", echoes, "CPU us/round trip", 1e6),
]


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
    os.sched_setaffinity(0, {LOAD_CORE})
    (app,) = free_ports(1)
    upstream = subprocess.Popen(pinned(LOAD_CORE, [sys.executable, "-c", APP, str(app)]), stdout=subprocess.PIPE)
    try:
        assert upstream.stdout is not None
        assert upstream.stdout.readline() == b"serving\n"
        with gateway(folder) as ours, peers(folder, app) as others:
            yield [ours, *others]
    finally:
        upstream.terminate()
        upstream.wait(timeout=10)


@contextmanager
def gateway(folder: Path) -> Iterator[Peer]:
    """The product with one web process, and its way to a private entry of a job that runs the same app."""
    product = Product(folder / "var", extra={"STARLIGHT_GATEWAY_PROCESSES": "1"})
    product.start()
    try:
        owner = product.admin()
        web = {"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"}
        job = owner.run(["taskset", "-c", str(LOAD_CORE), "python3", "-u", "-c", APP], entries=[web])
        eventually(lambda: b"serving" in owner.logs(job["id"]), what="the app serving")
        entry = owner.entry(job, "web")
        pid = product.pid("web-0")
        for process in tree(pid):
            os.sched_setaffinity(process, {PROXY_CORE})
        yield Peer("gateway", product.ports["HTTP"], pid, entry["host"], f"theme=dark; {ticket(product, owner, entry)}")
    finally:
        product.stop()


def ticket(product: Product, owner: Person, entry: dict[str, Any]) -> str:
    """The entry's cookie, got by the hop as a browser gets it."""
    port, host = product.ports["HTTP"], f"{entry['host']}:{product.ports['HTTP']}"
    away = request(port, "GET", "/", host=host, headers={"Sec-Fetch-Mode": "navigate"})
    asked = {name: values[0] for name, values in parse_qs(urlsplit(away.headers["Location"]).query).items()}
    back = owner.call("POST", "/hops", {name: asked[name] for name in ("entry", "state", "challenge")})["url"]
    fragment = {name: values[0] for name, values in parse_qs(urlsplit(back).fragment).items()}
    state = away.headers["Set-Cookie"].partition(";")[0]
    fields = {"Cookie": state, "Content-Type": "application/json", "Origin": f"http://{host}"}
    body = json.dumps({"state": fragment["state"], "code": fragment["code"]}).encode()
    exchanged = request(port, "POST", "/.starlight/exchange", host=host, headers=fields, body=body)
    cookies = exchanged.headers.get_all("Set-Cookie") or []
    return next(cookie.partition(";")[0] for cookie in cookies if cookie.startswith("starlight_entry="))
