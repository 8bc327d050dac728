"""`make fuzz`: atheris feeds every parser for a while; `make fuzz ARGS="--seconds 600 request chunks"` some for longer.

Each target runs in a process of its own, guided by the coverage of the code it reads. What was found to lead
further is kept in .build/fuzz-corpus, a find in .build/fuzz-finds: put its bytes among the target's
seeds, where the ordinary tests read them for ever, and mend the parser. Exits with 1 when there was a find.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS, FINDS = ROOT / ".build" / "fuzz-corpus", ROOT / ".build" / "fuzz-finds"
LONGEST = 8192
"""Bytes of one input."""


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("targets", nargs="*")
    asked = parser.parse_args()
    from tests.fuzz.targets import TARGETS

    found = [name for name in asked.targets or TARGETS if not fuzz(name, asked.seconds)]
    print("finds in:", ", ".join(found) or "none")
    return 1 if found else 0


def fuzz(name: str, seconds: int) -> bool:
    """Whether the target stood a process's feeding."""
    corpus, finds = CORPUS / name, FINDS / name
    corpus.mkdir(parents=True, exist_ok=True)
    finds.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST}",
        f"-artifact_prefix={finds}/",
        "-print_final_stats=1",
    ]
    command = [sys.executable, "-m", "tests.fuzz.feed", name, *options, str(corpus)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    runs = next((line for line in done.stderr.splitlines() if "number_of_executed_units" in line), "")
    print(
        f"{name:16} {runs.rpartition(' ')[2] or '0':>10} inputs  {'stood' if not done.returncode else 'FOUND'}",
        flush=True,
    )
    if done.returncode:
        print((done.stdout + done.stderr)[-4000:])
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
