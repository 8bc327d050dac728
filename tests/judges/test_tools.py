"""slowhttptest, testssl.sh and h2load against the whole product; their verdicts are asserted, not read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.judges.names import named
from tests.system.product import Person, Product, eventually

APP = (Path(__file__).parents[1] / "bench" / "upstream.py").read_text()
REQUESTS = 5000
SLOW = ["-c", "800", "-r", "400", "-i", "5", "-l", "20", "-p", "3", "-g"]
"""Connections, how many a second, seconds between their bytes, seconds in all, seconds until a probe has failed."""
GRADES = {"OK", "INFO"}
"""Of testssl.sh's severities those that are no fault."""
OF_ITSELF = {"engine_problem", "RC4"}
"""What it warns of when the machine's OpenSSL is too new for old attacks to be tried."""


@pytest.fixture(scope="module")
def entries(alice: Person) -> dict[str, dict[str, Any]]:
    """An open http and an open https entry of a job that answers."""
    kinds = ("http", "https")
    specs = [{"name": kind, "protocol": kind, "level": "open", "target_port": "auto"} for kind in kinds]
    line = "; ".join(f'python3 -u -c "$APP" "$STARLIGHT_PORT_{kind.upper()}" &' for kind in kinds).replace("&;", "&")
    job = alice.run(["/bin/sh", "-c", f"{line} wait"], env={"APP": APP}, entries=specs)
    eventually(lambda: alice.logs(job["id"]).count(b"serving") == len(kinds), what="the apps serving")
    return {entry["name"]: entry for entry in alice.call("GET", f"/jobs/{job['id']}")["entries"]}


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(["-H", "-x", "24"], id="slow heads"),
        pytest.param(["-B", "-s", "8192", "-x", "10"], id="slow bodies"),
        pytest.param(["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32", "-k", "3"], id="slow readers"),
        pytest.param(["-R", "-a", "5", "-b", "3000", "-t", "HEAD"], id="ranges"),
    ],
)
def test_slow_clients_keep_nobody_out(
    product: Product, entries: dict[str, dict[str, Any]], tmp_path: Path, attack: list[str]
) -> None:
    """While hundreds of them dawdle, slowhttptest's own probe is answered in time, until its end."""
    entry = entries["http"]
    url = f"http://{entry['host']}:{product.ports['HTTP']}/small"
    command = ["slowhttptest", *attack, *SLOW, "-o", str(tmp_path / "report"), "-u", url]
    done = subprocess.run(
        named(entry["host"], tmp_path, command), capture_output=True, text=True, check=False, timeout=100, cwd=tmp_path
    )
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    rows = [row.split(",") for row in (tmp_path / "report.csv").read_text().splitlines()[1:]]
    assert rows, said
    available = [int(row[-1]) for row in rows]
    assert all(available), f"inaccessible at {available.index(0)} s of {len(available)}\n{said[-2000:]}"


@pytest.mark.timeout(900)
def test_testssl_finds_no_fault(product: Product, entries: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    """Protocols, ciphers, and the known attacks on TLS."""
    entry, report = entries["https"], tmp_path / "report.json"
    options = ["--quiet", "--color", "0", "--warnings", "off", "--nodns", "none", "--ip", "127.0.0.1", "--fast"]
    checks = ["-p", "-s", "-f", "-P", "-U"]
    where = f"{entry['host']}:{product.ports['HTTPS']}"
    subprocess.run(
        ["testssl", *options, *checks, "--jsonfile", report, where], capture_output=True, check=False, timeout=800
    )
    found = json.loads(report.read_text())
    told = {item["id"]: (item["severity"], item["finding"]) for item in found}
    assert len(told) > 35, told
    assert told["TLS1_3"][0] == "OK"
    assert told["TLS1"][1] == told["SSLv3"][1] == "not offered"
    assert told["ALPN_HTTP2"] == ("OK", "h2")
    assert {name: said for name, said in told.items() if said[0] not in GRADES and name not in OF_ITSELF} == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["http", "https"])
def test_h2load_gets_every_answer(
    product: Product, entries: dict[str, dict[str, Any]], tmp_path: Path, kind: str
) -> None:
    """HTTP/1.1 in the clear, HTTP/2 where TLS lets it be chosen: as many good answers as requests."""
    entry = entries[kind]
    version = ["--h1"] if kind == "http" else ["-m", "4"]
    url = f"{kind}://{entry['host']}:{product.ports[kind.upper()]}/small"
    command = ["h2load", *version, "-n", str(REQUESTS), "-c", "20", url]
    said = subprocess.run(
        named(entry["host"], tmp_path, command), capture_output=True, text=True, check=True, timeout=250
    ).stdout
    assert f"{REQUESTS} succeeded, 0 failed, 0 errored, 0 timeout" in said, said
    assert f"status codes: {REQUESTS} 2xx" in said, said
    assert kind == "http" or "Application protocol: h2" in said, said
