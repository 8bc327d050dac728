"""`python -m control`: the control process, started by the supervisor with all settings in its environment."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

from control.app import run
from control.config import SettingsError, read_worker_settings
from gateway.contract.log_lines import write_log_lines


def main() -> int:
    """Runs control; the exit status is 2 for settings that cannot be used."""
    write_log_lines(os.environ.get("STARLIGHT_NAME", "control"))
    logging.getLogger("alembic").setLevel(logging.WARNING)
    try:
        worker = read_worker_settings(os.environ)
    except SettingsError as fault:
        for sentence in fault.faults:
            logging.getLogger("control").error("%s", sentence)
        return 2
    pages = Path(os.environ.get("STARLIGHT_ASSETS_DIR") or Path(__file__).parent / "console" / "dist")
    asyncio.run(run(worker, pages))
    return 0


if __name__ == "__main__":
    sys.exit(main())
