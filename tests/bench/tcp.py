"""A tcp entry beside nginx stream and HAProxy in tcp mode, 1 GiB each way: `make bench ARGS=tcp`.

The entry is open and has a port of its own, so that it is plain TCP as the peers are. Both peers have the buffers and
the splicing that people would give them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.door import entry_spec, open_door
from tests.bench.http import download, upload, upstream
from tests.bench.peers import Peer, running
from tests.bench.rounds import Work, compare
from tests.system.product import free_ports

NGINX = """
daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;
{module}
events {{ worker_connections 4096; }}
stream {{ server {{ listen 127.0.0.1:{nginx}; proxy_pass 127.0.0.1:{app}; proxy_buffer_size 64k; }} }}
"""
HAPROXY = """
global
  nbthread 1
  maxconn 4000
defaults
  mode tcp
  option splice-auto
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen raw
  bind 127.0.0.1:{haproxy}
  server app 127.0.0.1:{app}
"""
MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")


def main(folder: Path) -> None:
    """Prints a table for each direction, ratios to nginx stream."""
    raw = entry_spec("raw", "tcp", "random", level="open")
    with upstream() as app, open_door(folder, entry_spec("web", "http"), raw) as door, peers(folder, app) as others:
        entry = door.entry("raw")
        ours = Peer("gateway", entry["port"], door.pid)
        for title, act in (("tcp entry, 1 GiB down", download), ("tcp entry, 1 GiB up", upload)):
            compare(Work(title, act, "CPU s/GiB"), [ours, *others], "nginx stream")


@contextmanager
def peers(folder: Path, app: int) -> Iterator[list[Peer]]:
    """nginx stream and HAProxy, proxying the app on a port."""
    nginx, haproxy = free_ports(2)
    module = f"load_module {MODULE};" if MODULE.exists() else ""
    (folder / "stream.conf").write_text(NGINX.format(folder=folder, module=module, nginx=nginx, app=app))
    (folder / "tcp.cfg").write_text(HAPROXY.format(haproxy=haproxy, app=app))
    with ExitStack() as stack:
        pid = stack.enter_context(running(["nginx", "-c", str(folder / "stream.conf")], nginx))
        other = stack.enter_context(running(["haproxy", "-f", str(folder / "tcp.cfg")], haproxy))
        yield [Peer("nginx stream", nginx, pid), Peer("haproxy", haproxy, other)]
