"""`shim JOB_DIR`: keep the job whose spec.json lies there."""

import sys
from pathlib import Path

from .run import main

main(Path(sys.argv[2]))
