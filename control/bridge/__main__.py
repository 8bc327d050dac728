"""`python -m control.bridge`: the bridge of the local engine, started by the supervisor."""

from __future__ import annotations

import asyncio
import os
import sys

from control.bridge.process import run
from control.config import SettingsError, read_worker_settings
from gateway.contract.log_lines import write_log_lines


def main() -> int:
    """Runs until SIGTERM or the supervisor's end; the exit status."""
    write_log_lines(os.environ.get("STARLIGHT_NAME", "bridge-local"))
    try:
        settings = read_worker_settings(os.environ)
    except SettingsError as fault:
        sys.stderr.write(f"{fault}\n")
        return 2
    asyncio.run(run(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
