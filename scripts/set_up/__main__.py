"""Makes this checkout ready to `start` or to `test`: Debian packages, the virtual environment, the console's pages.

For `judges` and `fuzz` it makes an environment of their own besides, which the other tests do not wait for.
Standard library only. Each step looks first and does nothing when its result is there; its mark is written
last, so that a set-up that was interrupted is mended by the next call. One set-up at a time (a lock).
"""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # run with -I: the folder is not on the path by itself

import console
import debian
import environment

ROOT = Path(__file__).resolve().parents[2]
ASIDE = {
    "judges": ("tests/judges/requirements.lock",),
    "fuzz": ("requirements.lock", "tests/fuzz/requirements.lock"),
}
"""What needs an environment of its own beside that of the tests, and the locks that fill it."""
HOUSES = ("control", "gateway", "certs")


def main(purpose: str) -> int:
    """Sets up for `start`, `test`, or a key of ASIDE; the exit status."""
    # Other uids read the program (law 8), so a private umask must not decide.
    os.umask(0o022)
    build = ROOT / ".build"
    build.mkdir(exist_ok=True)
    with (build / "set-up.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            debian.ensure(purpose)
            environment.ensure(ROOT, "start" if purpose == "start" else "test")
            console.ensure(ROOT)
            if purpose in ASIDE:
                environment.ensure_aside(ROOT, purpose, *ASIDE[purpose])
        except (subprocess.CalledProcessError, debian.MissingError, OSError) as fault:
            print(f"set-up: {fault}", file=sys.stderr)
            return 1
        if os.geteuid() == 0:
            open_to_others(ROOT)
    return 0


def open_to_others(root: Path) -> None:
    """Lets the workers' uids read the houses when they were cloned under a private umask."""
    for house in HOUSES:
        for folder, folders, files in os.walk(root / house):
            folders[:] = [name for name in folders if name != "node_modules"]
            for path in [Path(folder), *(Path(folder) / name for name in files)]:
                mode = path.lstat().st_mode
                wanted = (
                    mode | stat.S_IRGRP | stat.S_IROTH | ((mode & stat.S_IXUSR) >> 3) | ((mode & stat.S_IXUSR) >> 6)
                )
                if not stat.S_ISLNK(mode) and wanted != mode:
                    path.chmod(stat.S_IMODE(wanted))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
