"""`python -I -S .../control/agent shim JOB_DIR` keeps a job; `... inner FD` is the job's first process.

Run as a directory, so that neither half needs the rest of the platform, a virtual environment or
even to know where it lies: inside a job this directory is mounted somewhere else.
"""

import runpy
import sys

if len(sys.argv) < 2 or sys.argv[1] not in ("shim", "inner"):
    sys.exit("usage: python -I -S control/agent shim JOB_DIR | inner FD")
runpy.run_module(sys.argv[1], run_name="__main__")
