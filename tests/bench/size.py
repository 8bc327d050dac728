"""What the number of entries costs: `make bench ARGS=size`. Two products in one run, with 10 entries and with 100,000.

A request, a change and its way to all processes must cost the same in both; the list of 100,000 must not hold up
anybody. Entries of the large one are those of crowd.py.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.bench import crowd
from tests.bench.cost import LOAD_CORE, cpu_s, pinned
from tests.bench.door import Door, entry_spec, open_door
from tests.bench.http import head_of, small
from tests.bench.peers import Peer
from tests.bench.rounds import ROUNDS, Work, compare, head
from tests.system.product import eventually

FEW, MANY = "10 entries", "100,000 entries"
COUNTS = {FEW: 10, MANY: 100_000}
CHANGES = 40
PROBE_S = 5.0
SMALL_BYTES = 1024


def main(folder: Path) -> None:
    """Prints a table for requests, for changes, and for lists."""
    os.sched_setaffinity(0, {LOAD_CORE})
    with ExitStack() as stack:
        doors = {}
        for name, count in COUNTS.items():
            (folder / name).mkdir()
            doors[name] = stack.enter_context(open_door(folder / name, entry_spec("web", "http")))
            crowd.add(doors[name], count)
            settle(doors[name])
        peers = [door.plain(name) for name, door in doors.items()]
        compare(Work("Small requests against the number of entries", small, "CPU us/request", 1e6), peers, FEW)
        changes(doors)
        stall(doors[MANY])
        lists(doors[MANY])


def settle(door: Door) -> None:
    """The gateways hold what was written, and have put it on disk; a restarted one begins with a list."""
    crowd.change(door, "login")
    door.product.kill("web-0")
    eventually(door.product.healthy, within_s=120, what="the gateway again")
    eventually(lambda: crowd.change(door, "private") < 1, within_s=120, what="the gateways keeping up")
    time.sleep(5)  # nothing tells when the copy on disk is written; its CPU must not fall into the first row
    door.pin()


def changes(doors: dict[str, Door]) -> None:
    """CPU of the gateways for one change, and how long it took to be active on all of them."""
    began = time.monotonic()
    costs: dict[str, list[float]] = {name: [] for name in doors}
    controls: dict[str, list[float]] = {name: [] for name in doors}
    took: dict[str, list[float]] = {name: [] for name in doors}
    for number in range(ROUNDS + 1):
        for name, door in doors.items():
            gateways = [door.product.pid(process) for role in ("web", "ssh") for process in door.product.names(role)]
            before, control = sum(map(cpu_s, gateways)), cpu_s(door.product.pid("control"))
            times = [crowd.change(door, level) for level in ("login", "private") * (CHANGES // 2)]
            if number:
                costs[name].append((sum(map(cpu_s, gateways)) - before) / CHANGES * 1e6)
                controls[name].append((cpu_s(door.product.pid("control")) - control) / CHANGES * 1e6)
                took[name] += times
    head("One entry changes", time.monotonic() - began)
    print(
        "| table | CPU us/change, gateways | x | CPU us/change, control | active everywhere, median / worst | rounds |"
    )
    print("|---|---|---|---|---|---|")
    base = statistics.median(costs[FEW])
    for name in doors:
        middle, asked = statistics.median(costs[name]), statistics.median(controls[name])
        waits = f"{statistics.median(took[name]) * 1e3:.0f} / {max(took[name]) * 1e3:.0f} ms of {len(took[name])}"
        raw = " ".join(f"{cost:.0f}" for cost in costs[name])
        print(f"| {name} | {middle:.0f} | {middle / base:.2f} | {asked:.0f} | {waits} | {raw} |", flush=True)


def lists(door: Door) -> None:
    """How long a gateway takes for a list, and its longest turn of the loop meanwhile."""
    began = time.monotonic()
    program = [sys.executable, "-m", "tests.bench.listing", str(door.product.data / "run" / "feed.sock")]
    told = []
    for _ in range(ROUNDS):
        said = subprocess.run(pinned(0, program), capture_output=True, text=True, check=True, timeout=300).stdout
        told += [json.loads(line) for line in said.splitlines()]
    head("A list of 100,000 entries", time.monotonic() - began)
    print("| list | records | applied in, CPU | applied in, clock | longest turn, CPU | longest turn, clock |")
    print("|---|---|---|---|---|---|")
    for what in dict.fromkeys(each["what"] for each in told):
        rows = [each for each in told if each["what"] == what]
        cells = [
            " ".join(f"{row[word] * scale:.{digits}f}" for row in rows) + unit
            for word, scale, digits, unit in (
                ("applied_cpu_s", 1, 2, " s"),
                ("applied_s", 1, 2, " s"),
                ("turn_cpu_s", 1e3, 1, " ms"),
                ("turn_s", 1e3, 0, " ms"),
            )
        ]
        print(f"| {what} | {rows[0]['records']} | {' | '.join(cells)} |", flush=True)


def stall(door: Door) -> None:
    """The slowest request, one after the other, while the serving gateway itself takes in the list, and otherwise."""
    began = time.monotonic()
    peer = door.plain()
    quiet, busy = [], []
    with ThreadPoolExecutor(1) as beside:
        for _ in range(ROUNDS):
            quiet.append(slowest(peer, PROBE_S))
            probing = beside.submit(slowest, peer, PROBE_S)
            crowd.have_listed_again(door)
            crowd.change(door, "login")
            crowd.change(door, "private")
            busy.append(probing.result())
    head(f"The slowest of all requests within {PROBE_S:.0f} s", time.monotonic() - began)
    print("| meanwhile | slowest of each round, ms |\n|---|---|")
    for what, times in (("nothing", quiet), ("the gateway lists 100,000 entries anew", busy)):
        print(f"| {what} | {' '.join(f'{each * 1e3:.0f}' for each in times)} |", flush=True)


def slowest(peer: Peer, for_s: float) -> float:
    """Seconds of the slowest small request, one after the other on one connection."""
    worst, end = 0.0, time.perf_counter() + for_s
    with socket.create_connection(("127.0.0.1", peer.port), timeout=60) as sock:
        head = f"GET /small HTTP/1.1\r\nHost: {peer.host}\r\nCookie: {peer.cookie}\r\n\r\n".encode()
        while (began := time.perf_counter()) < end:
            sock.sendall(head)
            start, rest = head_of(sock)
            assert start.startswith(b"HTTP/1.1 200"), start
            while len(rest) < SMALL_BYTES:
                rest += sock.recv(1 << 16)
            worst = max(worst, time.perf_counter() - began)
    return worst
