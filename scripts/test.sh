#!/bin/sh
# The console's own tests, then pytest; what is given goes to pytest, whose closing line comes last.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
echo "== vitest"
NO_COLOR=1 $bin/python scripts/set_up/console.py run --silent test -- --reporter=dot
echo "== pytest"
exec $bin/python -m pytest -q -p tests.house.minutes "$@"
