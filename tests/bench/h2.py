"""HTTP/2 over TLS 1.3 beside nginx: small requests and bulk by h2load: `make bench ARGS=h2`.

Both speak HTTP/1.1 to the app, as nginx always does. The gateway judges every stream of the private entry.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from certs.local_ca import Issued, issue, make_authority
from control.clock import utcnow
from tests.bench.cost import LOAD_CORE, pinned
from tests.bench.door import entry_spec, open_door
from tests.bench.http import upstream
from tests.bench.peers import ONWARD, Peer, running
from tests.bench.rounds import Work, compare
from tests.system.product import free_ports

NAME: Final = "h2.bench.test"
REQUESTS: Final = 10_000
MANY: Final = ["-c8", "-m16"]
"""Connections, and requests under way on each."""
PIECES: Final = 16
PIECE_BYTES: Final = (1 << 30) // PIECES

NGINX = """
daemon off; user root; worker_processes 1; pid {folder}/nginx-h2.pid; error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; proxy_temp_path {folder}/proxy; client_body_temp_path {folder}/body;
  keepalive_requests 1000000000; ssl_protocols TLSv1.3;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream app {{ server 127.0.0.1:{app}; keepalive 128; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {folder}/h2.pem; ssl_certificate_key {folder}/h2.pem;
            location / {{ {onward} }} }}
}}
"""


def main(folder: Path) -> None:
    """Prints one table a kind of work, ratios to nginx."""
    issued = issue(make_authority([NAME], now=utcnow()), [NAME], now=utcnow())
    with (
        upstream() as app,
        open_door(folder, entry_spec("secure", "https")) as door,
        nginx(folder, app, issued) as peer,
    ):
        both = [door.secure(), peer]
        compare(Work("HTTP/2, small requests", small, "CPU us/request", 1e6), both, "nginx")
        compare(Work("HTTP/2, download of 1 GiB", download, "CPU s/GiB"), both, "nginx")


@contextmanager
def nginx(folder: Path, app: int, issued: Issued) -> Iterator[Peer]:
    """nginx with its `http2` switched on, and its defaults otherwise."""
    (port,) = free_ports(1)
    (folder / "h2.pem").write_text(issued.key_pem + issued.chain_pem)
    config = folder / "nginx-h2.conf"
    config.write_text(NGINX.format(folder=folder, app=app, port=port, onward=ONWARD))
    with running(["nginx", "-c", str(config)], port) as pid:
        yield Peer("nginx", port, pid, NAME)


def small(peer: Peer) -> int:
    """Requests over 8 connections, 16 of them under way on each."""
    return h2load(peer, REQUESTS, "/small?x=1", *MANY)


def download(peer: Peer) -> int:
    """1 GiB in 16 answers, 4 at a time on one connection."""
    h2load(peer, PIECES, f"/bytes/{PIECE_BYTES}", "-c1", "-m4", "-w24", "-W26")
    return 1


def h2load(peer: Peer, requests: int, path: str, *options: str) -> int:
    """So many requests, all of which must succeed."""
    fields = [f"Cookie: {peer.cookie}", "Accept: text/html", "User-Agent: h2load"]
    headers = [part for field in fields for part in ("-H", field)]
    command = ["h2load", f"-n{requests}", "-t1", *options, f"--connect-to=127.0.0.1:{peer.port}", *headers]
    command.append(f"https://{peer.host}:{peer.port}{path}")
    said = subprocess.run(pinned(LOAD_CORE, command), capture_output=True, text=True, check=True).stdout
    assert f"{requests} 2xx" in said and "Application protocol: h2" in said, said
    return requests
