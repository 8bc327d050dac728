"""TLS 1.3 beside nginx: small requests, full handshakes among 1,000 certificates, bulk: `make bench ARGS=tls`.

Both have ECDSA P-256 certificates and their defaults otherwise. The gateway judges every visit of the private entry.
"""

from __future__ import annotations

import random
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from certs.local_ca import Authority, Issued, issue, make_authority
from control.clock import utcnow
from gateway.contract.routes import Certificate
from tests.bench import crowd
from tests.bench.cost import LOAD_CORE, pinned
from tests.bench.door import Door, entry_spec, open_door, trusting
from tests.bench.http import GIB, taken, upstream
from tests.bench.peers import ONWARD, Peer, running
from tests.bench.rounds import Work, compare
from tests.system.product import eventually, free_ports

DOMAIN: Final = "bench.test"
NAMES: Final = [f"n{number:04}.{DOMAIN}" for number in range(1000)]
REQUESTS: Final = 20_000
HANDSHAKES: Final = 1000
CLIENTS: Final = 8

NGINX = """
daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; proxy_temp_path {folder}/proxy; client_body_temp_path {folder}/body;
  keepalive_requests 1000000000; server_names_hash_max_size 8192; ssl_protocols TLSv1.3;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream app {{ server 127.0.0.1:{app}; keepalive 128; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{one} ssl; ssl_certificate {folder}/0.pem; ssl_certificate_key {folder}/0.pem;
            location / {{ {onward} }} }}
  {servers}
}}
"""
SERVER = """server {{ listen 127.0.0.1:{many} ssl; server_name {name};
  ssl_certificate {folder}/{number}.pem; ssl_certificate_key {folder}/{number}.pem; location / {{ {onward} }} }}
"""


def main(folder: Path) -> None:
    """Prints one table a kind of work, ratios to nginx."""
    authority = make_authority([DOMAIN], now=utcnow())
    issued = [issue(authority, [name], now=utcnow()) for name in NAMES]
    shake = Shake(authority)
    doors = [entry_spec("web", "http"), entry_spec("secure", "https")]
    with upstream() as app, open_door(folder, *doors) as door, nginx(folder, app, issued) as (one, many):
        certify(door, issued)
        ours = door.secure()
        compare(Work("TLS 1.3, small requests, keep-alive", small, "CPU us/request", 1e6), [ours, one], "nginx")
        handshakes = Work("TLS 1.3, full handshakes among 1,000 certificates", shake.all, "CPU us/handshake", 1e6)
        compare(handshakes, [ours, many], "nginx")
        compare(Work("TLS 1.3, download of 1 GiB", download, "CPU s/GiB"), [ours, one], "nginx")


def certify(door: Door, issued: Sequence[Issued]) -> None:
    """Gives the gateways the certificates, and waits until the last of them is shown."""
    made = [Certificate(name, (name,), each.chain_pem, each.key_pem) for name, each in zip(NAMES, issued, strict=True)]
    crowd.write(door, made)
    crowd.change(door, "login")
    eventually(lambda: crowd.change(door, "private") < 5, what="the gateways holding the certificates")

    def shown() -> bool:
        with connected(door.secure_port, NAMES[-1], trusting()) as sock:
            return NAMES[-1].encode() in (sock.getpeercert(binary_form=True) or b"")

    eventually(shown, what="the gateway showing the certificates")


@contextmanager
def nginx(folder: Path, app: int, issued: Sequence[Issued]) -> Iterator[tuple[Peer, Peer]]:
    """nginx with one certificate on one port, and with all of them on another."""
    one, many = free_ports(2)
    for number, each in enumerate(issued):
        (folder / f"{number}.pem").write_text(each.key_pem + each.chain_pem)
    servers = "".join(
        SERVER.format(many=many, name=name, folder=folder, number=number, onward=ONWARD)
        for number, name in enumerate(NAMES)
    )
    config = folder / "nginx-tls.conf"
    config.write_text(NGINX.format(folder=folder, app=app, one=one, servers=servers, onward=ONWARD))
    with running(["nginx", "-c", str(config)], one) as pid:
        yield Peer("nginx", one, pid, NAMES[0]), Peer("nginx", many, pid, NAMES[0])


def small(peer: Peer) -> int:
    """Requests over 32 connections, all of which shook hands before."""
    fields = [f"Cookie: {peer.cookie}", "Accept: text/html", "User-Agent: h2load"]
    headers = [part for field in fields for part in ("-H", field)]
    command = ["h2load", "--h1", f"-n{REQUESTS}", "-c32", "-t1", f"--connect-to=127.0.0.1:{peer.port}", *headers]
    command.append(f"https://{peer.host}:{peer.port}/small?x=1")
    said = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True, check=True).stdout
    assert f"{REQUESTS} 2xx" in said, said
    assert "TLSv1.3" in said, said
    return REQUESTS


def download(peer: Peer) -> int:
    """1 GiB from the app."""
    with connected(peer.port, peer.host, trusting()) as sock:
        sock.sendall(f"GET /bytes/{GIB} HTTP/1.1\r\nHost: {peer.host}\r\nCookie: {peer.cookie}\r\n\r\n".encode())
        taken(sock, peer.name)
    return 1


class Shake:
    """Clients that shake hands with names taken at random, check the certificate for it, and go."""

    def __init__(self, authority: Authority) -> None:
        self._context = ssl.create_default_context(cadata=authority.certificate_pem)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_3

    def all(self, peer: Peer) -> int:
        """HANDSHAKES of them by CLIENTS at once; none resumes a session."""
        threads = [threading.Thread(target=self._some, args=(peer, number)) for number in range(CLIENTS)]
        self._done = 0
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert self._done == HANDSHAKES, f"{peer.name}: {self._done} handshakes of {HANDSHAKES}"
        return HANDSHAKES

    def _some(self, peer: Peer, seed: int) -> None:
        pick = random.Random(seed)
        for _ in range(HANDSHAKES // CLIENTS):
            with connected(peer.port, pick.choice(NAMES), self._context):
                self._done += 1


@contextmanager
def connected(port: int, name: str, context: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    """A connection after its handshake."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=60) as sock,
        context.wrap_socket(sock, server_hostname=name) as secured,
    ):
        yield secured
