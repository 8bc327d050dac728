"""What people would pick instead: each peer proxies the same app, one process, pinned to the proxy's core.

install.py brings them; caddy and configurable-http-proxy join when found.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.cost import PROXY_CORE, pinned
from tests.system.product import eventually, free_ports

NGINX = """
daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;
worker_rlimit_nofile 20000; events {{ worker_connections 18000; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; client_max_body_size 0;
  keepalive_requests 1000000000;
  map $http_upgrade $connection_upgrade {{ default upgrade; '' ''; }}
  upstream app {{ server 127.0.0.1:{app}; keepalive 128; keepalive_requests 1000000000; }}
  upstream judge {{ server 127.0.0.1:{judge}; keepalive 32; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{plain}; location / {{ {onward} }} }}
  server {{ listen 127.0.0.1:{asking}; location / {{ auth_request /auth; {onward} }}
            location = /auth {{ internal; proxy_pass http://judge; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_pass_request_body off; proxy_set_header Content-Length ""; }} }}
  server {{ listen 127.0.0.1:{judge}; return 200; }}
  server {{ listen 127.0.0.1:{tuned}; proxy_buffers 16 64k; proxy_buffer_size 64k; proxy_busy_buffers_size 128k;
            proxy_max_temp_file_size 0; proxy_request_buffering off; client_body_buffer_size 64k;
            location / {{ {onward} }} }}
}}
"""
ONWARD = (
    "proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Host $host; "
    "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; "
    "proxy_set_header X-Forwarded-For $remote_addr;"
)
HAPROXY = """
global
  nbthread 1
  maxconn 9000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout tunnel 1h
frontend web
  bind 127.0.0.1:{plain}
  option forwardfor
  default_backend app
backend app
  http-reuse always
  server app 127.0.0.1:{app}
"""


CADDY = """
{{
  admin off
  auto_https off
}}
http://127.0.0.1:{caddy} {{
  reverse_proxy 127.0.0.1:{app}
}}
http://127.0.0.1:{asking} {{
  forward_auth 127.0.0.1:{judge} {{
    uri /auth
  }}
  reverse_proxy 127.0.0.1:{app}
}}
http://127.0.0.1:{judge} {{
  respond 200
}}
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """One proxy under test: where it listens, by what Host and cookie it is passed, and the root of its processes."""

    name: str
    port: int
    pid: int
    host: str = "app.example.test"
    cookie: str = "theme=dark; session=0123456789abcdef; sid=abc123"


@contextmanager
def peers(folder: Path, app: int) -> Iterator[list[Peer]]:
    """Every peer that this machine has, proxying the app on a port; all end with the block."""
    plain, asking, judge, tuned, proxy, chp, api, *caddy = free_ports(10)
    nginx = NGINX.format(folder=folder, app=app, plain=plain, asking=asking, judge=judge, tuned=tuned, onward=ONWARD)
    (folder / "nginx.conf").write_text(nginx)
    (folder / "haproxy.cfg").write_text(HAPROXY.format(app=app, plain=proxy))
    with ExitStack() as stack:
        pid = stack.enter_context(running(["nginx", "-c", str(folder / "nginx.conf")], plain))
        found = [Peer("nginx plain", plain, pid), Peer("nginx + auth_request", asking, pid)]
        found.append(Peer("nginx, 64 KiB buffers", tuned, pid))
        pid = stack.enter_context(running(["haproxy", "-f", str(folder / "haproxy.cfg")], proxy))
        found.append(Peer("haproxy", proxy, pid))
        found += stack.enter_context(_caddy(folder, app, *caddy))
        if program := shutil.which("configurable-http-proxy"):
            ports = ["--port", str(chp), "--api-port", str(api), "--ip", "127.0.0.1", "--log-level", "error"]
            command = [program, *ports, "--default-target", f"http://127.0.0.1:{app}"]
            pid = stack.enter_context(running(command, chp))
            found.append(Peer("configurable-http-proxy", chp, pid))
        yield found


@contextmanager
def _caddy(folder: Path, app: int, caddy: int, asking: int, judge: int) -> Iterator[list[Peer]]:
    """Caddy plain, and with forward_auth that asks a third server in it, so that all counts; none when absent."""
    program = shutil.which("caddy")
    if program is None:
        yield []
        return
    config = folder / "Caddyfile"
    config.write_text(CADDY.format(caddy=caddy, asking=asking, judge=judge, app=app))
    command = [program, "run", "--adapter", "caddyfile", "--config", str(config)]
    with running(command, caddy, GOMAXPROCS="1", HOME=str(folder)) as pid:
        yield [
            Peer("caddy", caddy, pid, host=f"127.0.0.1:{caddy}"),
            Peer("caddy + forward_auth", asking, pid, host=f"127.0.0.1:{asking}"),
        ]


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[int]:
    """The program, once it listens on the port; its process id."""
    process = subprocess.Popen(
        pinned(PROXY_CORE, command), env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        eventually(lambda: _listens(port), within_s=60, what=f"{command[0]} on {port}")
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=10)


def _listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
