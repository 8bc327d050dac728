"""`python -m control.supervisor up|down|doctor`, the same as `starlight up|down|doctor`."""

import sys

from control.supervisor.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
