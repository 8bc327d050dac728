"""Candidates side by side: they alternate within a round, and a figure is the median of the rounds.

The measure is CPU time of the whole process tree for each unit of work (cost.py): it held where requests/s swung with
the machine's noise. How busy the machine was is printed with every table, and the command that made it.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.cost import cpu_s
from tests.bench.peers import Peer

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))

Act = Callable[[Peer], int]
"""Puts work on a proxy; returns how many units were done."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the figures: what is done, in which unit its cost is told, and units a second of CPU."""

    title: str
    act: Act
    unit: str
    scale: float = 1.0


def compare(work: Work, peers: Sequence[Peer], base: str) -> dict[str, list[float]]:
    """Runs the rounds and prints the table with ratios to the candidate `base`; the first touch warms up."""
    began = time.monotonic()
    rounds: dict[str, list[float]] = {peer.name: [] for peer in peers}
    for number in range(ROUNDS + 1):
        for peer in peers:
            before = cpu_s(peer.pid)
            done = work.act(peer)
            if number and done:
                rounds[peer.name].append((cpu_s(peer.pid) - before) / done * work.scale)
    told(work.title, work.unit, rounds, base, time.monotonic() - began)
    return rounds


def told(title: str, unit: str, rounds: dict[str, list[float]], base: str, took_s: float) -> None:
    """One table, as it stands in README.md."""
    head(title, took_s)
    print(f"| candidate | {unit} | x {base} | rounds |\n|---|---|---|---|")
    bottom = statistics.median(rounds[base])
    for name, costs in rounds.items():
        middle = statistics.median(costs) if costs else float("nan")
        raw = " ".join(f"{cost:.3g}" for cost in costs)
        print(f"| {name} | {middle:.3g} | {middle / bottom:.2f} | {raw} |", flush=True)


def head(title: str, took_s: float) -> None:
    """The title of a table, the command that makes it, and how busy the machine was."""
    command = " ".join(["make bench", *([f"ARGS={sys.argv[1]}"] if sys.argv[1:] else [])])
    now = time.strftime("%Y-%m-%d %H:%M")
    load = os.getloadavg()[0]
    print(f"\n### {title}\n\n`{command}`, {now}, {os.cpu_count()} cores, load {load:.1f}, {took_s:.0f} s\n")
