"""tcp entries of real jobs with the clients that people have: redis-cli, psql, mosquitto, openssl, our own."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import ROOT, Person, Product, eventually

POSTGRES = """
import glob, os, subprocess
programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
subprocess.run([programs + "/initdb", "-D", "db", "-U", "alice", "-A", "trust", "--no-sync"], check=True)
os.execv(programs + "/postgres", ["postgres", "-D", "db", "-p", "5432", "-k", "", "-c", "listen_addresses=127.0.0.1"])
"""


@pytest.fixture(scope="module")
def redis(alice: Person) -> dict[str, Any]:
    """A job with redis behind a private entry on the fixed port."""
    entries = [
        {"name": "cache", "protocol": "tcp", "level": "private", "target_port": 6379},
    ]
    job = alice.run(["redis-server", "--port", "6379", "--save", ""], name="redis", entries=entries)
    eventually(lambda: b"Ready to accept" in alice.logs(job["id"]), what="redis ready")
    return job


@pytest.fixture(scope="module")
def postgres(alice: Person) -> dict[str, Any]:
    """A job with PostgreSQL behind a private entry on the fixed port."""
    entries = [{"name": "db", "protocol": "tcp", "level": "private", "target_port": 5432}]
    job = alice.run(["python3", "-c", POSTGRES], name="pg", entries=entries, env={"LC_ALL": "C.UTF-8"})
    eventually(lambda: b"ready to accept" in alice.logs(job["id"]), what="PostgreSQL ready")
    return job


@pytest.fixture(scope="module")
def mqtt(alice: Person) -> dict[str, Any]:
    """A job with an MQTT broker behind a login entry on a port of its own."""
    entries = [{"name": "mqtt", "protocol": "tcp", "level": "login", "target_port": 1883, "port": "random"}]
    job = alice.run(["mosquitto", "-v", "-p", "1883"], name="mqtt", entries=entries)
    eventually(lambda: b"running" in alice.logs(job["id"]), what="mosquitto running")
    return job


def certificate(who: Person, entry: dict[str, Any], folder: Path) -> Path:
    """A file as the console's button gives it: certificate, key, and the gateway's authority."""
    made = who.call("POST", f"/entries/{entry['id']}/client-certificate")
    path = folder / f"{who.name}-{made['id']}.pem"
    path.touch(mode=0o600)
    path.write_text(made["pem"])
    return path


def redis_cli(product: Product, entry: dict[str, Any], pem: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """redis-cli through TLS, as the card says it."""
    tls = ["--tls", "--sni", entry["host"], "--cacert", str(pem), "--cert", str(pem), "--key", str(pem)]
    line = ["redis-cli", "-h", "127.0.0.1", "-p", str(product.ports["TCP"]), *tls, *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)


def psql(product: Product, entry: dict[str, Any], pem: Path, sql: str, **more: str) -> subprocess.CompletedProcess[str]:
    """psql through TLS, every name and certificate checked."""
    told = {
        "host": entry["host"], "hostaddr": "127.0.0.1", "port": str(product.ports["TCP"]), "user": "alice",
        "dbname": "postgres", "sslmode": "verify-full", "sslrootcert": str(pem), "sslcert": str(pem),
        "sslkey": str(pem),
    } | more  # fmt: skip
    line = ["psql", "-X", "-At", "-c", sql, " ".join(f"{name}={value}" for name, value in told.items())]
    return subprocess.run(line, capture_output=True, text=True, timeout=30, check=False)


def test_redis_cli_by_certificate(product: Product, alice: Person, redis: dict[str, Any], tmp_path: Path) -> None:
    """Set and get, through the one port that all tcp entries share."""
    entry = alice.entry(redis, "cache")
    assert entry["url"] == f"tls://{entry['host']}:{product.ports['TCP']}"
    pem = certificate(alice, entry, tmp_path)
    assert redis_cli(product, entry, pem, "set", "colour", "red").stdout == "OK\n"
    assert redis_cli(product, entry, pem, "get", "colour").stdout == "red\n"


def test_a_strangers_certificate_is_worth_nothing_here(
    product: Product, alice: Person, bob: Person, redis: dict[str, Any], mqtt: dict[str, Any], tmp_path: Path
) -> None:
    """Bob gets none for a private entry, and the one for another entry does not open this."""
    entry = alice.entry(redis, "cache")
    bob.call("POST", f"/entries/{entry['id']}/client-certificate", expect=403)
    other = certificate(bob, alice.entry(mqtt, "mqtt"), tmp_path)
    done = redis_cli(product, entry, other, "get", "colour")
    assert "red" not in done.stdout
    assert done.returncode != 0


@pytest.mark.parametrize("withdrawn", ["share", "certificate", "user"])
def test_a_withdrawal_cuts_a_live_session_within_a_second(
    product: Product, alice: Person, redis: dict[str, Any], tmp_path: Path, withdrawn: str
) -> None:
    """A guest blocks on a list; the owner's session goes on."""
    entry = alice.entry(redis, "cache")
    guest = product.person(f"guest-{withdrawn}")
    code = alice.call("PUT", f"/entries/{entry['id']}/share", {})["code"]
    guest.call("POST", "/shares/redeem", {"code": code})
    theirs, hers = certificate(guest, entry, tmp_path), certificate(alice, entry, tmp_path)
    with (
        waiting(product, entry, theirs, "their-list") as blocked,
        waiting(product, entry, hers, "her-list") as going_on,
    ):
        began = time.monotonic()
        if withdrawn == "share":
            alice.call("DELETE", f"/entries/{entry['id']}/share")
        elif withdrawn == "certificate":
            held = alice.call("GET", f"/entries/{entry['id']}/client-certificates")["items"]
            mine = next(each for each in held if each["user"] == guest.name)
            alice.call("DELETE", f"/client-certificates/{mine['id']}")
        else:
            product.admin().call("PATCH", f"/users/{guest.name}", {"disabled": True})
        blocked.settimeout(5)
        with pytest.raises(OSError, match=r"reset|EOF"):  # never an orderly end: that would be b""
            blocked.recv(1)
        assert time.monotonic() - began < 2.0, "the answer of the API included"
        redis_cli(product, entry, hers, "rpush", "her-list", "x")
        going_on.settimeout(5)
        assert b"her-list" in going_on.recv(100)


@contextmanager
def waiting(product: Product, entry: dict[str, Any], pem: Path, key: str) -> Iterator[socket.socket]:
    """A live TLS session that waits for a list's next element."""
    context = ssl.create_default_context(cafile=pem)
    context.load_cert_chain(pem)
    raw = socket.create_connection(("127.0.0.1", product.ports["TCP"]), timeout=10)
    with context.wrap_socket(raw, server_hostname=entry["host"], suppress_ragged_eofs=False) as sock:
        sock.sendall(b"PING\r\n")
        assert sock.recv(100) == b"+PONG\r\n"
        sock.sendall(f"BLPOP {key} 60\r\n".encode())
        yield sock


def test_psql_by_certificate(product: Product, alice: Person, postgres: dict[str, Any], tmp_path: Path) -> None:
    """SSLRequest, SNI, verify-full: a row comes back; a withdrawn certificate is refused with our sentence."""
    entry = alice.entry(postgres, "db")
    pem = certificate(alice, entry, tmp_path)
    done = psql(product, entry, pem, "select 6 * 7")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    held = alice.call("GET", f"/entries/{entry['id']}/client-certificates")["items"]
    alice.call("DELETE", f"/client-certificates/{held[-1]['id']}")
    refused = psql(product, entry, pem, "select 1")
    assert "client certificate" in refused.stderr
    plain = psql(product, entry, pem, "select 1", sslmode="disable")
    assert "unencrypted" in plain.stderr


def test_mosquitto_on_a_port_of_its_own(
    product: Product, bob: Person, alice: Person, mqtt: dict[str, Any], tmp_path: Path
) -> None:
    """Any user passes a login entry by a certificate of their own; a message goes round."""
    entry = alice.entry(mqtt, "mqtt")
    pem = certificate(bob, entry, tmp_path)
    tls = ["--cafile", str(pem), "--cert", str(pem), "--key", str(pem), "--insecure"]
    where = ["-h", "127.0.0.1", "-p", str(entry["port"]), *tls, "-t", "news"]
    with subprocess.Popen(["mosquitto_sub", *where, "-C", "1", "-W", "20"], stdout=subprocess.PIPE, text=True) as heard:
        eventually(lambda: b"SUBSCRIBE" in alice.logs(mqtt["id"]), what="subscribed")
        done = subprocess.run(["mosquitto_pub", *where, "-m", "hello"], capture_output=True, timeout=20, check=False)
        assert done.returncode == 0, done.stderr
        assert heard.communicate(timeout=20)[0] == "hello\n"


def test_openssl_s_client_without_a_certificate(
    product: Product, alice: Person, redis: dict[str, Any], tmp_path: Path
) -> None:
    """Refused by an alert that says what is missing; once the entry is open, none is asked for."""
    entry = alice.entry(redis, "cache")
    assert "certificate required" in s_client(product, entry, b"PING\r\n")
    alice.call("PATCH", f"/entries/{entry['id']}", {"level": "open"})
    try:
        assert "+PONG" in s_client(product, entry, b"PING\r\n")
    finally:
        alice.call("PATCH", f"/entries/{entry['id']}", {"level": "private"})


def s_client(product: Product, entry: dict[str, Any], typed: bytes) -> str:
    """What openssl prints when this is typed."""
    line = [
        "openssl",
        "s_client",
        "-connect",
        f"127.0.0.1:{product.ports['TCP']}",
        "-servername",
        entry["host"],
        "-quiet",
    ]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as program:
        assert program.stdin is not None
        program.stdin.write(typed)
        program.stdin.flush()
        time.sleep(1.0)
        program.terminate()  # it goes on after its input has ended
        out, _ = program.communicate(timeout=10)
    return out.decode(errors="replace")


@contextmanager
def forwarded(product: Product, who: Person, entry: dict[str, Any], home: Path) -> Iterator[int]:
    """`starlight forward ENTRY 0` as a person runs it; its local port."""
    url = f"http://127.0.0.1:{product.ports['CONSOLE']}"
    environment = {"PATH": os.defpath, "HOME": str(home), "STARLIGHT_URL": url, "STARLIGHT_TOKEN": who.token}
    line = [sys.executable, "-m", "control.cli", "forward", str(entry["id"]), "0", "--json"]
    with subprocess.Popen(line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        said = program.stdout.readline()
        assert said, program.stderr and program.stderr.read()
        try:
            yield json.loads(said)["port"]
        finally:
            program.send_signal(signal.SIGINT)
            assert program.wait(timeout=10) == 0


def test_forward_brings_redis_to_a_local_port(
    product: Product, alice: Person, redis: dict[str, Any], tmp_path: Path
) -> None:
    """The plain client, no certificate, nothing to trust: the platform says whom."""
    with forwarded(product, alice, alice.entry(redis, "cache"), tmp_path) as port:
        done = subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, timeout=20, check=False)
        assert done.stdout == b"PONG\n", done.stderr


def test_forward_brings_psql_to_a_local_port(
    product: Product, alice: Person, postgres: dict[str, Any], tmp_path: Path
) -> None:
    """A whole result set through the tunnel."""
    with forwarded(product, alice, alice.entry(postgres, "db"), tmp_path) as port:
        line = ["psql", "-X", "-At", "-c", "select count(*), sum(n) from generate_series(1, 100000) n"]
        told = f"host=127.0.0.1 port={port} user=alice dbname=postgres"
        done = subprocess.run([*line, told], capture_output=True, text=True, timeout=30, check=False)
        assert done.stdout == "100000|5000050000\n", done.stderr
