#!/bin/sh
# Everything that is checked without running the platform: style, types, the drawing's arrows, house rules.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
echo "== ruff"
$bin/ruff check --quiet .
$bin/ruff format --check --quiet .
echo "== mypy"
$bin/mypy --strict
echo "== lint-imports"
$bin/lint-imports --no-cache
echo "== vue-tsc"
$bin/python scripts/set_up/console.py run --silent check
echo "== house"
$bin/python -m pytest -q -s tests/house
