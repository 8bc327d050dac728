"""One target under atheris: `python -m tests.fuzz.feed TARGET [libFuzzer's options] CORPUS`."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gateway", "certs", "control"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Puts the seeds where libFuzzer looks for them, and feeds for as long as it was told."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]
    for seed in target.seeds:
        (Path(options[-1]) / hashlib.sha256(seed).hexdigest()).write_bytes(seed)
    atheris.Setup([sys.argv[0], *options], target.feed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
