"""`python -m control.bridge`: the bridge of the local engine, started by the supervisor."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from control.bridge.process import run
from control.config import SettingsError, read_worker_settings


def main() -> int:
    """Runs until SIGTERM or the supervisor's end; the exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s bridge %(levelname)s %(message)s", stream=sys.stderr)
    try:
        settings = read_worker_settings(os.environ)
    except SettingsError as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    asyncio.run(run(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
