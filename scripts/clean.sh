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

data=$($bin/python -c "$ask" 2>/dev/null || echo "${STARLIGHT_DATA_DIR:-var}")

# Jobs outlive a `make clean`; without the environment nothing could end them, and their files would go from under them.
if [ -n "${1:-}" ] && [ ! -x $bin/starlight ] && [ -n "$(ls "$data/bridge/jobs" 2>/dev/null)" ]; then
    echo "clean: $data holds jobs that may still run, and .venv, which could end them, is gone;" >&2
    echo "       run make start ARGS=--detach, then make clean ARGS=--data again" >&2
    exit 1
fi

# A half-made environment must not keep it from being removed; a platform that runs on it must.
if [ -e "$data/run/supervisor.lock" ] && ! $bin/starlight down ${1:+--jobs} &&
    ! flock -n "$data/run/supervisor.lock" true; then
    echo "clean: the platform on $data still runs and could not be stopped" >&2
    exit 1
fi

# Nothing is removed on a mistyped path: a data directory of ours holds its feed key.
if [ -n "${1:-}" ] && [ -e "$data/feed.key" ]; then
    echo "removing $data"
    rm -rf -- "$data"
fi
rm -rf .venv .build control/console/node_modules control/console/dist ./*.egg-info \
    .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
