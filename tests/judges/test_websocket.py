"""The Autobahn cases for WebSocket, run by kosoku: through the gateway every verdict is what it is without it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.judges.conftest import APPS, listening
from tests.judges.names import named
from tests.system.product import Person, Product, free_ports
from tests.system.test_tcp_entries import forwarded

CORE = ["-x", "9.*", "-x", "12.*", "-x", "13.*"]
LARGE = ["-i", "9.*", "-i", "12.1.*", "-i", "13.1.*"]
"""Large messages and frames, and compression as the browser asks for it; the other parameters repeat these."""
WEB = {"name": "web", "protocol": "http", "level": "open", "target_port": "auto", "port": "fixed"}
Verdicts = dict[str, tuple[str, str, int | None]]


@pytest.fixture(scope="module")
def entry(alice: Person, programs: Path) -> dict[str, Any]:
    """An open entry of a job that echoes."""
    job = alice.run([f"{programs}/judges/bin/python", "-u", f"{programs}/apps/echo.py"], name="echo", entries=[WEB])
    listening(alice, job["id"], b"serving")
    return alice.entry(job, "web")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cases", [CORE, LARGE], ids=["core", "large"])
def test_every_verdict_is_the_one_without_a_gateway(
    product: Product, entry: dict[str, Any], judges_python: Path, tmp_path: Path, cases: list[str]
) -> None:
    """The same app is asked beside the job and through its entry; the difference is empty."""
    kosoku = [str(judges_python.with_name("kosoku")), *cases]
    address = f"{entry['host']}:{product.ports['HTTP']}"
    through = verdicts(named(entry["host"], tmp_path, kosoku), address, tmp_path / "through")
    assert difference(beside(judges_python, kosoku, tmp_path), through) == {}


@pytest.mark.timeout(600)
def test_a_private_entry_through_starlight_forward_changes_no_verdict(
    product: Product, alice: Person, entry: dict[str, Any], judges_python: Path, tmp_path: Path
) -> None:
    """One more tunnel in between, through TLS and on the owner's token."""
    kosoku = [str(judges_python.with_name("kosoku")), *CORE]
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "private"})
    try:
        with forwarded(product, alice, entry, tmp_path) as port:
            through = verdicts(kosoku, f"127.0.0.1:{port}", tmp_path / "through")
    finally:
        alice.call("PATCH", f"/entries/{entry['id']}", {"level": "open"})
    assert difference(beside(judges_python, kosoku, tmp_path), through) == {}


def beside(python: Path, kosoku: list[str], folder: Path) -> Verdicts:
    """The verdicts on the app itself."""
    (port,) = free_ports(1)
    environment = os.environ | {"STARLIGHT_PORT_WEB": str(port)}
    with subprocess.Popen([python, "-u", APPS / "echo.py"], env=environment, stdout=subprocess.PIPE) as app:
        try:
            assert app.stdout is not None
            assert app.stdout.readline() == b"serving\n"
            return verdicts(kosoku, f"127.0.0.1:{port}", folder / "beside")
        finally:
            app.kill()


def verdicts(kosoku: list[str], address: str, reports: Path) -> Verdicts:
    """What kosoku says of each case: behaviour, how it closed, and the code that came.

    NON-STRICT is as good as OK: it says that the app did not echo what came right before a fault, which it does
    or does not as the segments fall.
    """
    done = subprocess.run([*kosoku, "-o", reports, address], capture_output=True, text=True, check=False, timeout=400)
    index = reports / "index.json"
    assert index.exists(), done.stderr
    (told,) = json.loads(index.read_text()).values()
    return {
        case: (said["behavior"].replace("NON-STRICT", "OK"), said["behaviorClose"], said["remoteCloseCode"])
        for case, said in told.items()
    }


def difference(one: Verdicts, other: Verdicts) -> dict[str, Any]:
    """The cases that came out otherwise; there must have been some at all."""
    assert len(one) > 80
    return {case: (one.get(case), other.get(case)) for case in one | other if one.get(case) != other.get(case)}
