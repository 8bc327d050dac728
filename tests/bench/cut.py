"""How fast a withdrawn right cuts a live connection: from the owner's call to the end at the guest's own socket."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path

from tests.system.product import Person, Product, eventually
from tests.system.test_http_entries import APP, echo, gone, tunnel, visit

ROUNDS = 20


def measure(folder: Path) -> list[tuple[str, str]]:
    """Milliseconds over ROUNDS cancels of a share code, with a tunnel of the guest open each time."""
    product = Product(folder / "var")
    product.start()
    try:
        owner, guest = product.person("alice"), product.person("bob")
        entries = [{"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"}]
        job = owner.run(["python3", "-c", APP], name="app", entries=entries)
        eventually(lambda: b"serving" in owner.logs(job["id"]), what="the app serving")
        took = sorted(_round(product, owner, guest, owner.entry(job, "web")) * 1000 for _ in range(ROUNDS))
    finally:
        product.stop()
    return [
        (f"cancel to cut, median of {ROUNDS}", f"{statistics.median(took):.0f} ms"),
        (f"cancel to cut, worst of {ROUNDS}", f"{took[-1]:.0f} ms"),
    ]


def _round(product: Product, owner: Person, guest: Person, entry: dict[str, object]) -> float:
    share = owner.call("PUT", f"/entries/{entry['id']}/share", {})
    guest.call("POST", "/shares/redeem", {"code": share["code"]})
    eventually(lambda: visit(product, entry, token=guest.token).status == 200, within_s=5, what="the guest admitted")
    with tunnel(product, entry, guest) as sock:
        assert echo(sock)
        cancel = threading.Thread(target=owner.call, args=("DELETE", f"/entries/{entry['id']}/share"))
        began = time.monotonic()
        cancel.start()
        assert gone(sock)
        took = time.monotonic() - began
        cancel.join()
    return took
