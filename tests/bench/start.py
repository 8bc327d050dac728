"""How long a start takes until a job can be submitted: the first on an empty data directory, and the next ones."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

from tests.system.product import Product

ROUNDS = 5


def measure(folder: Path) -> list[tuple[str, str]]:
    """Seconds from `starlight up` to healthz 200. Set-up (packages, console build) is done before."""
    product = Product(folder / "var")
    first = _start(product)
    again = []
    for _ in range(ROUNDS):
        product.stop()
        again.append(_start(product))
    product.stop()
    return [
        ("first start, empty data directory", f"{first:.2f} s"),
        (f"next starts, median of {ROUNDS} (worst)", f"{statistics.median(again):.2f} s ({max(again):.2f} s)"),
    ]


def _start(product: Product) -> float:
    began = time.monotonic()
    product.start()
    return time.monotonic() - began
