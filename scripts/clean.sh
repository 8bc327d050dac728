#!/bin/sh
# Stops the platform and removes what set-up and builds made; with --data the jobs and all data as well.
set -eu
cd "$(dirname "$0")/.."
bin=.venv/bin
ask='import os, pathlib
from control.config import read_settings
print(read_settings(os.environ, pathlib.Path("starlight.toml")).data_dir)'

case "${1:-}" in
"" | --data) ;;
*) echo "clean: $1 is not known; --data removes all data too" >&2; exit 2 ;;
esac

if [ -x $bin/starlight ]; then
    $bin/starlight down ${1:+--jobs}
    if [ -n "${1:-}" ]; then
        data=$($bin/python -c "$ask")
    fi
elif [ -n "${1:-}" ]; then
    data=${STARLIGHT_DATA_DIR:-var}
fi

# Nothing is removed on a mistyped path: a data directory of ours holds its feed key.
if [ -n "${data:-}" ] && [ -e "$data/feed.key" ]; then
    echo "removing $data"
    rm -rf -- "$data"
fi
rm -rf .venv .build control/console/node_modules control/console/dist ./*.egg-info \
    .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
