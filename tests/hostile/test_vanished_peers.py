"""B09: a peer that vanishes without a word is found out, and the other side told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALONE = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])


def test_who_vanishes_is_let_go_and_the_other_side_told() -> None:
    """A cable is pulled in a network namespace, once a side: keepalive ends both sockets, no visit stays."""
    pulls = {side: pull(side) for side in ("person", "app")}
    for side, process in pulls.items():
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, f"{side} vanished: {said}"


def pull(side: str) -> subprocess.Popen[str]:
    """Pulls the cable of one side."""
    return subprocess.Popen(
        [*ALONE, sys.executable, "-m", "tests.hostile.vanishing", side],
        cwd=ROOT,
        env=os.environ | {"PATH": PATH},
        stderr=subprocess.PIPE,
        text=True,
    )
