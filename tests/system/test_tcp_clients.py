"""Programs that cannot name an entry through TLS, MySQL's and VNC's: real ones, by the lines that the card shows."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import Person, Product, eventually, free_ports
from tests.system.test_tcp_entries import forwarded

pytestmark = pytest.mark.slow

MARIADB = """
import os, subprocess
quiet = ["--no-defaults", f"--datadir={os.getcwd()}/db"]
subprocess.run(["mariadb-install-db", *quiet, "--auth-root-authentication-method=normal", "--skip-test-db"], check=True)
listens = ["--port=3306", "--bind-address=127.0.0.1", f"--socket={os.getcwd()}/sock"]
os.execvp("mariadbd", ["mariadbd", *quiet, *listens])
"""
SQL = """
create or replace database d; use d; create table t (n int); insert into t select seq from seq_1_to_50000;
select count(*), sum(n) from t; select n from t
"""
DISPLAY = ["Xtigervnc", ":1", "-rfbport", "5901", "-SecurityTypes", "None", "-geometry", "320x200", "-localhost", "-ac"]


@pytest.fixture(scope="module")
def mariadb(alice: Person) -> dict[str, Any]:
    """A job with a MariaDB server behind a private entry."""
    entries = [{"name": "db", "protocol": "tcp", "level": "private", "target_port": 3306}]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    job = alice.run(["python3", "-c", MARIADB], name="mariadb", entries=entries, env=environment)
    eventually(lambda: b"ready for connections" in alice.logs(job["id"]), within_s=90, what="MariaDB ready")
    return job


@pytest.fixture(scope="module")
def desktop(alice: Person) -> dict[str, Any]:
    """A job with an X server that speaks VNC behind a private entry."""
    entries = [{"name": "screen", "protocol": "tcp", "level": "private", "target_port": 5901}]
    job = alice.run(DISPLAY, name="desktop", entries=entries)
    eventually(lambda: b"Listening for VNC" in alice.logs(job["id"]), what="VNC ready")
    return job


@contextmanager
def ssh_forwarded(product: Product, who: Person, job: dict[str, Any], target: int) -> Iterator[int]:
    """`ssh -N -L` as the card says it; the local port."""
    (port,) = free_ports(1)
    options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes"]
    login = f"{who.name}+{job['id']}@127.0.0.1"
    line = ["ssh", "-v", "-N", "-L", f"{port}:127.0.0.1:{target}", "-p", str(product.ports["SSH"]), *options, login]
    with subprocess.Popen(["sshpass", "-p", who.password, *line], stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        said = ""
        while "Entering interactive session" not in said:
            read = program.stderr.readline()
            assert read, said
            said += read
        try:
            yield port
        finally:
            program.terminate()
            program.communicate(timeout=10)


@contextmanager
def tunnel(
    way: str, product: Product, who: Person, job: dict[str, Any], entry: str, target: int, home: Path
) -> Iterator[int]:
    """Either of the card's two lines; the local port."""
    if way == "ssh":
        with ssh_forwarded(product, who, job, target) as port:
            yield port
    else:
        with forwarded(product, who, who.entry(job, entry), home) as port:
            yield port


@pytest.mark.parametrize("way", ["forward", "ssh"])
def test_mariadbs_client(product: Product, alice: Person, mariadb: dict[str, Any], tmp_path: Path, way: str) -> None:
    """The server speaks first; a table goes in and a long result comes back."""
    with tunnel(way, product, alice, mariadb, "db", 3306, tmp_path) as port:
        line = ["mariadb", "--no-defaults", "-h", "127.0.0.1", "-P", str(port), "-u", "root", "-N", "-B", "-e"]
        done = subprocess.run([*line, SQL], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        first, *numbers = done.stdout.splitlines()
        assert first == "50000\t1250025000"
        assert len(numbers) == 50000


@pytest.mark.parametrize("way", ["forward", "ssh"])
def test_a_vnc_client(product: Product, alice: Person, desktop: dict[str, Any], tmp_path: Path, way: str) -> None:
    """It takes a picture of the job's screen."""
    with tunnel(way, product, alice, desktop, "screen", 5901, tmp_path) as port:
        picture = tmp_path / "screen.png"
        line = ["gvnccapture", f"127.0.0.1:{port - 5900}", str(picture)]  # it counts displays, from 5900
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert picture.read_bytes().startswith(b"\x89PNG")
