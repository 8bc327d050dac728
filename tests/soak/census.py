"""What each of the platform's processes holds: descriptors, tasks, memory."""

from __future__ import annotations

import contextlib
import http.client
import time
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.system.product import Product, request

SETTLED_S = 150.0
"""Longer than any connection may rest unused, and than a process that was killed takes to come back."""
GROWTH_BYTES = 32 << 20
"""By which a process may have grown: caches are filled, and an allocator gives nothing back at once."""
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Held:
    """By one process. `tasks` are None where nobody tells them."""

    pid: int
    descriptors: int
    tasks: int | None
    memory_bytes: int


def take(product: Product) -> dict[str, Held]:
    """By every process of the platform, and by the shims of its jobs."""
    tasks = _told(product, "starlight_tasks")
    pids = {name: product.pid(name) for name in [*product.names(), "supervisor"]} | _shims(product)
    held = {}
    for name, pid in sorted(pids.items()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it is being started again, or its job ended
            held[name] = _held(pid, tasks.get(name))
    return held


def settled(product: Product, before: dict[str, Held] | None = None) -> dict[str, Held]:
    """What is held once no connection is open and, where `before` is given, no more than then; or at the deadline."""
    deadline = time.monotonic() + SETTLED_S
    while True:
        now = take(product)
        quiet = not any(_told(product, "starlight_connections_open", "starlight_visits_open").values())
        if (quiet and not (before and excess(before, now))) or time.monotonic() > deadline:
            return now
        time.sleep(1.0)


def excess(before: dict[str, Held], after: dict[str, Held]) -> list[str]:
    """What is more than it was, one line each. A process that was killed meanwhile is held to what its kind had."""
    found = []
    for name, now in after.items():
        then = before.get(name) or Held(0, 0, None, 0)
        if now.descriptors > then.descriptors:
            found.append(f"{name}: {now.descriptors} descriptors, were {then.descriptors}")
        if (now.tasks or 0) > (then.tasks or 0):
            found.append(f"{name}: {now.tasks} tasks, were {then.tasks}")
        if now.memory_bytes > then.memory_bytes + GROWTH_BYTES:
            found.append(f"{name}: {now.memory_bytes >> 20} MiB, were {then.memory_bytes >> 20}")
    return found


def table(before: dict[str, Held], after: dict[str, Held]) -> str:
    """Both, side by side."""
    rows = ["| process | descriptors | tasks | memory, MiB | |", "|---|---|---|---|---|"]
    for name, now in after.items():
        then = before.get(name) or now
        again = "" if now.pid == then.pid else "started again meanwhile"
        memory = f"{then.memory_bytes / 2**20:.1f} -> {now.memory_bytes / 2**20:.1f}"
        tasks = "" if now.tasks is None else f"{then.tasks} -> {now.tasks}"
        rows.append(f"| {name} | {then.descriptors} -> {now.descriptors} | {tasks} | {memory} | {again} |")
    return "\n".join(rows)


def _held(pid: int, tasks: float | None) -> Held:
    process = Path("/proc", str(pid or "none"))
    resident = int((process / "statm").read_text().split()[1]) * _PAGE
    return Held(pid, len(list((process / "fd").iterdir())), None if tasks is None else int(tasks), resident)


def _told(product: Product, *names: str) -> dict[str, float]:
    """By process: the sum of these metrics."""
    token = (product.data / "control" / "metrics-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    try:
        answer = request(product.ports["CONSOLE"], "GET", "/metrics", headers=headers)
    except (OSError, http.client.HTTPException):  # whom it was asked of was killed meanwhile
        answer = request(product.ports["CONSOLE"], "GET", "/metrics", headers=headers)
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            if sample.name in names:
                found[sample.labels["process"]] = found.get(sample.labels["process"], 0) + sample.value
    return found


def _shims(product: Product) -> dict[str, int]:
    """The programs that hold running jobs, by the job's name."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        job = next((Path(word).name for word in words if word.startswith(f"{product.data}/bridge/jobs/")), None)
        if job is not None and "shim" in " ".join(words):
            found[f"shim of {job}"] = int(process.name)
    return found
