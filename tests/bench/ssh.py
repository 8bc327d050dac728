"""ssh through the gateway beside `ssh -J` through OpenSSH and plain sshd: `make bench ARGS=ssh`.

The far side of the jump is an sshd; that of the gateway is a job, entered through the bridge. CPU is
that of what stands between: the gateway's ssh process, the jump host's sshd with all its children.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from tests.bench.cost import LOAD_CORE, PROXY_CORE, cpu_s, pinned, tree
from tests.bench.peers import running
from tests.bench.rounds import ROUNDS, head, told
from tests.system.product import Product, free_ports

BULK_BYTES = 256 << 20
LOGINS = 10
KEYS = 200
OFFERED_PER_S = 60
OFFERED_FOR_S = 5
SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/keys
PidFile none
UsePAM no
StrictModes no
MaxStartups 1000
Subsystem sftp internal-sftp
"""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to a shell: the words after ssh's own options, and the process that stands between."""

    name: str
    words: tuple[str, ...]
    pid: int


Act = Callable[[Way], float]


def main(folder: Path) -> None:
    """Prints a table for each kind of work, ratios to `ssh -J`."""
    with ways(folder) as (options, found, product_port):

        def run(way: Way, *command: str, feed: Path | None = None) -> None:
            with (feed or Path(os.devnull)).open("rb") as source:
                line = pinned(LOAD_CORE, ["ssh", *options, *way.words, *command])
                subprocess.run(line, stdin=source, stdout=subprocess.DEVNULL, check=True)

        blob = folder / "blob"
        blob.write_bytes(os.urandom(1 << 20) * (BULK_BYTES >> 20))

        def sftp(way: Way, batch: str) -> None:
            port = [word.replace("-p", "-P") if word == "-p" else word for word in way.words[:-1]]
            line = pinned(LOAD_CORE, ["sftp", *options, *port, "-b", "-", way.words[-1]])
            subprocess.run(line, input=batch.encode(), stdout=subprocess.DEVNULL, check=True)

        mib = BULK_BYTES / (1 << 20)
        for title, act in (
            ("bulk down, exec", lambda way: run(way, f"head -c {BULK_BYTES} /dev/zero")),
            ("bulk up, exec", lambda way: run(way, "cat > /dev/null", feed=blob)),
            ("bulk up, sftp", lambda way: sftp(way, f"put {blob} /tmp/bench-blob\n")),
            ("bulk down, sftp", lambda way: sftp(way, "get /tmp/bench-blob /dev/null\n")),
        ):
            compare(title, found, act, mib, "MiB/s", "CPU s/GiB", 1024 / mib)

        def logins(way: Way) -> None:
            for _ in range(LOGINS):
                run(way, "echo")

        compare("login to first output", found, logins, LOGINS, "logins/s", "CPU ms/login", 1000 / LOGINS)
        asyncio.run(keystrokes(product_port, folder, found[0]))
        asyncio.run(offered(product_port, folder, found[0]))


def compare(
    title: str, found: Sequence[Way], act: Callable[[Way], None], units: float, speed: str, cost: str, scale: float
) -> None:
    """Two tables: how fast, and at what cost of what stands between. The first round warms up."""
    began = time.monotonic()
    speeds: dict[str, list[float]] = {way.name: [] for way in found}
    costs: dict[str, list[float]] = {way.name: [] for way in found}
    for number in range(ROUNDS + 1):
        for way in found:
            before, started = cpu_s(way.pid), time.perf_counter()
            act(way)
            if number:
                speeds[way.name].append(units / (time.perf_counter() - started))
                costs[way.name].append((cpu_s(way.pid) - before) * scale)
    told(title, speed, speeds, "ssh -J", time.monotonic() - began)
    told(f"{title}: cost", cost, costs, "ssh -J", 0)


async def keystrokes(port: int, folder: Path, way: Way) -> None:
    """Round trips of single keys through the gateway, alone and beside a stream of its own connection's size."""
    began = time.monotonic()
    async with client(port, folder, way) as idle:
        alone = await echoes(idle)
    async with client(port, folder, way) as typing, client(port, folder, way) as bulk:
        stream = await bulk.create_process("cat /dev/zero", encoding=None)

        async def drain() -> None:
            while await stream.stdout.read(1 << 20):
                pass

        async with asyncio.TaskGroup() as tasks:
            draining = tasks.create_task(drain())
            beside = await echoes(typing)
            draining.cancel()
        stream.close()
    head("keystroke echo through the gateway (client on the same cores)", time.monotonic() - began)
    print("| | p50 ms | p99 ms |\n|---|---|---|")
    for name, values in (("alone", alone), ("beside one bulk stream", beside)):
        print(
            f"| {name} | {statistics.median(values):.1f} | {statistics.quantiles(values, n=100)[98]:.1f} |", flush=True
        )


async def echoes(connection: asyncssh.SSHClientConnection) -> list[float]:
    """Milliseconds that each of the keys took to come back."""
    process = await connection.create_process("stty raw -echo; cat", term_type="xterm", encoding=None)
    found = []
    await asyncio.sleep(0.5)
    for _ in range(KEYS):
        started = time.perf_counter()
        process.stdin.write(b"k")
        await process.stdout.readexactly(1)
        found.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0.01)
    process.close()
    return found


async def offered(port: int, folder: Path, way: Way) -> None:
    """Logins begun at a steady rate, whatever the ones before do; how many failed, how long they took."""
    began, took, failed = time.monotonic(), [], 0

    async def one() -> None:
        nonlocal failed
        started = time.perf_counter()
        try:
            async with asyncio.timeout(20), client(port, folder, way) as connection:
                assert (await connection.run("echo in")).stdout == "in\n"
        except (OSError, asyncssh.Error, TimeoutError, AssertionError):
            failed += 1
        else:
            took.append((time.perf_counter() - started) * 1000)

    before = cpu_s(way.pid)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(OFFERED_PER_S * OFFERED_FOR_S):
            tasks.create_task(one())
            await asyncio.sleep(1 / OFFERED_PER_S)
    cost = (cpu_s(way.pid) - before) / (OFFERED_PER_S * OFFERED_FOR_S) * 1000
    head(f"{OFFERED_PER_S} logins a second offered for {OFFERED_FOR_S} s", time.monotonic() - began)
    print("| failed | p50 ms | p99 ms | gateway CPU ms/login |\n|---|---|---|---|")
    middle, late = statistics.median(took), statistics.quantiles(took, n=100)[98]
    print(f"| {failed} | {middle:.0f} | {late:.0f} | {cost:.1f} |", flush=True)


def client(port: int, folder: Path, way: Way) -> Any:
    """An asyncssh client of the gateway."""
    return asyncssh.connect(
        "127.0.0.1", port, username=way.words[-1].partition("@")[0], client_keys=[str(folder / "key")],
        known_hosts=None, config=None, agent_path=None,
    )  # fmt: skip


@contextmanager
def ways(folder: Path) -> Iterator[tuple[list[str], list[Way], int]]:
    """ssh's options, the three ways, and the gateway's port."""
    for name in ("key", "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    public = (folder / "key.pub").read_text()
    (folder / "keys").write_text(public)
    options = [
        *("-F", "none", "-i", str(folder / "key"), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes"),
        *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"),
    ]
    product = Product(folder / "var")
    product.start()
    try:
        admin = product.admin()
        admin.call("POST", "/me/keys", {"name": "bench", "public_key": public.strip()})
        job = admin.run(["taskset", "-c", str(LOAD_CORE), "sleep", "100000"])
        with sshd(folder, "target", LOAD_CORE) as (far, far_pid), sshd(folder, "jump", PROXY_CORE) as (near, near_pid):
            for process in tree(product.pid("ssh-0")):
                os.sched_setaffinity(process, {PROXY_CORE})
            user = os.environ.get("USER", "root")
            port, target = product.ports["SSH"], ("-p", str(far), f"{user}@127.0.0.1")
            through = f"ssh {' '.join(options)} -W %h:%p -p {near} {user}@127.0.0.1"
            yield (
                options,
                [
                    Way("gateway", ("-p", str(port), f"admin+{job['id']}@127.0.0.1"), product.pid("ssh-0")),
                    Way("ssh -J", ("-o", f"ProxyCommand={through}", *target), near_pid),
                    Way("sshd itself", target, far_pid),
                ],
                port,
            )
    finally:
        product.stop()


@contextmanager
def sshd(folder: Path, name: str, core: int) -> Iterator[tuple[int, int]]:
    """A plain sshd on one core: its port and process."""
    (port,) = free_ports(1)
    config = folder / f"{name}.conf"
    config.write_text(SSHD.format(port=port, folder=folder))
    Path("/run/sshd").mkdir(exist_ok=True)
    with running(pinned(core, ["/usr/sbin/sshd", "-D", "-f", str(config)]), port) as pid:
        yield port, pid
