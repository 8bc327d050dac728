"""Runs a program for which an entry's host name is this machine, whatever its resolver says of `.localhost`."""

from __future__ import annotations

import os
from pathlib import Path

_SCRIPT = 'mount --bind "$0" /etc/hosts && exec "$@"'


def named(host: str, folder: Path, command: list[str]) -> list[str]:
    """The command line that runs `command` beside a hosts file of its own, which is put into `folder`."""
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {host}\n")
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    return [*alone, "sh", "-c", _SCRIPT, str(hosts), *command]
