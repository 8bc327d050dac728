"""Starts the whole product, runs one job, and measures the way to it: `make bench`, under a minute.

`make bench ARGS=http` and the other rows compare it with other proxies instead (README.md holds the figures); `all`
runs every row.

Everything goes over loopback, client and product on the same cores: figures compare commits on one machine,
not machines.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import h2, http, idle, install, latency, size, ssh, tcp, tls
from tests.bench.load import Echo, Figures, measure, visit
from tests.system.product import Product

APP = (Path(__file__).parents[1] / "system" / "app.py").read_text()
ROWS = {
    "http": http.main,
    "tls": tls.main,
    "tcp": tcp.main,
    "latency": latency.main,
    "idle": idle.main,
    "size": size.main,
    "h2": h2.main,
    "ssh": ssh.main,
}
FOR_S = 4.0
CLIENTS = 16


def main() -> int:
    """Prints one line a figure."""
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:]:
            install.ensure()
            for name in ROWS if sys.argv[1:] == ["all"] else sys.argv[1:]:
                (Path(folder) / name).mkdir()
                ROWS[name](Path(folder) / name)
            return 0
        product = Product(Path(folder) / "var")
        began = time.perf_counter()
        product.start()
        print(f"{'start until a job can be submitted':44} {time.perf_counter() - began:8.2f} s")
        try:
            web = {"name": "web", "protocol": "http", "level": "open", "target_port": "auto", "port": "fixed"}
            began = time.perf_counter()
            admin = product.admin()
            job = admin.run(["python3", "-u", "-c", APP], entries=[web])
            print(f"{'job from submission to active entries':44} {time.perf_counter() - began:8.2f} s")
            asyncio.run(door(product.ports["HTTP"], admin.entry(job, "web")["host"]))
        finally:
            product.stop()
    return 0


async def door(port: int, host: str) -> None:
    """The figures of one http entry."""
    told("visits, one after the other", await measure(visit(port, host, "/"), clients=1, for_s=FOR_S))
    told(f"visits, {CLIENTS} at once", await measure(visit(port, host, "/"), clients=CLIENTS, for_s=FOR_S))
    bulk = await measure(visit(port, host, "/bytes"), clients=4, for_s=FOR_S)
    print(f"{'bytes through, 4 streams of 1 MiB visits':44} {bulk.megabytes_per_s:8.0f} MB/s")
    echo = await Echo.open(port, host)
    try:
        told("keystroke through a tunnel", await measure(echo.keystroke, clients=1, for_s=FOR_S))
    finally:
        echo.close()


def told(name: str, figures: Figures) -> None:
    """One line: rate, median and 99th percentile."""
    print(f"{name:44} {figures.per_s:8.0f} /s   median {figures.median_ms:7.2f} ms   p99 {figures.p99_ms:7.2f} ms")


if __name__ == "__main__":
    sys.exit(main())
