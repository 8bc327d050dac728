"""Debian packages: found by what they bring, installed when root, else named with the exact line.

Nothing of them stops a start: without one the platform does less, and `starlight doctor` says what. The
tests use them all for real, so for `test` a missing one is an error.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# package -> what it brings: programs by name, or files by pattern
FOR_START = {
    "bubblewrap": "bwrap",
    "passt": "pasta",
    "nftables": "nft",
    "openssh-sftp-server": "/usr/lib/openssh/sftp-server",
    "openssh-client": "ssh",
    "util-linux": "nsenter",
    "iproute2": "ip",
}
FOR_TEST = FOR_START | {
    "chromium": "chromium",
    "fonts-wqy-microhei": "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
    "postgresql": "/usr/lib/postgresql/*/bin/postgres",
    "putty-tools": "plink",
    "openssh-server": "sshd",
    "openssl": "openssl",
    "curl": "curl",
    "rsync": "rsync",
    "sshpass": "sshpass",
    "redis-server": "redis-server",
    "redis-tools": "redis-cli",
    "pebble": "pebble-challtestsrv",
    "mosquitto": "mosquitto",
    "mosquitto-clients": "mosquitto_pub",
}
FOR_JUDGES = FOR_TEST | {
    "varnish": "varnishtest",
    "nghttp2-client": "h2load",
    "slowhttptest": "slowhttptest",
    "testssl.sh": "testssl",
    "novnc": "/usr/share/novnc/vnc.html",
    "websockify": "websockify",
    "tigervnc-standalone-server": "Xtigervnc",
    "gvncviewer": "gvnccapture",
    "mariadb-server-core": "mariadbd",
    "mariadb-client-core": "mariadb",
    "xterm": "xterm",
    "x11-xserver-utils": "xsetroot",
}
WANTED = {"start": FOR_START, "test": FOR_TEST, "fuzz": FOR_TEST, "judges": FOR_JUDGES}
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = (
    "#!/bin/sh\n# Made by Starlight's set-up for as long as it installs; remove it if you find it.\nexit 101\n"
)


class MissingError(Exception):
    """Packages that the tests cannot do without."""


def ensure(purpose: str) -> None:
    """Installs what is missing, when it can. Raises MissingError when the tests would lack something."""
    missing = missing_packages(purpose)
    if not missing:
        return
    line = "apt-get install " + " ".join(missing)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"set-up: {line}")
        install(missing)
        missing = missing_packages(purpose)
    if missing and purpose != "start":
        raise MissingError(f"the tests need these packages:\n  sudo {line}")
    if missing:
        print(
            f"set-up: the platform does more with these packages (starlight doctor says what):\n  sudo {line}",
            file=sys.stderr,
        )


def missing_packages(purpose: str) -> list[str]:
    """The packages that are wanted and not here."""
    return [package for package, brings in WANTED[purpose].items() if not is_here(brings)]


def is_here(brings: str) -> bool:
    """Whether a program of that name, or a file of that pattern, is on this machine."""
    if brings.startswith("/"):
        return bool(glob.glob(brings))
    return shutil.which(brings) is not None or shutil.which(brings, path=SYSTEM_PATH) is not None


def install(packages: list[str]) -> None:
    """Installs them by apt-get, without starting any service they bring. A failure is told, not raised."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    with no_services():
        if subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            # A fresh machine has no package lists yet.
            subprocess.run(["apt-get", "update", "-q"], stdout=subprocess.DEVNULL, check=False)
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)


@contextmanager
def no_services() -> Iterator[None]:
    """Keeps an installed sshd or PostgreSQL from being started as the machine's own (Debian's policy-rc.d)."""
    if POLICY.exists() and POLICY.read_text() != POLICY_TEXT:
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)
