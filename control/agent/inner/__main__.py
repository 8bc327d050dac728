"""`inner FD`: serve the shim at the other end of the inherited socket FD."""

import sys

from .serve import main

main(int(sys.argv[2]))
