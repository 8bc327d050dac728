#!/bin/sh
# Finds the interpreter to build on, then hands over to scripts/set_up.
#
# As root, one that other users can execute comes first: control, the gateways and people's jobs run under
# uids of their own. One below a closed folder (another user's home) still does; the supervisor then opens a passage.
set -eu
cd "$(dirname "$0")/.."

fits() { # the program is Python 3.11 or later and can make virtual environments
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

candidates() {
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" || echo "$PYTHON"
        return
    fi
    if [ "$(id -u)" = 0 ]; then
        ls /usr/bin/python3 /usr/bin/python3.1[1-9] /usr/local/bin/python3 /usr/local/bin/python3.1[1-9] 2>/dev/null || true
    fi
    for name in python3 python3.11 python3.12 python3.13 python3.14; do
        command -v "$name" || true
    done
}

for python in $(candidates); do
    if fits "$python"; then
        exec "$python" -I -u scripts/set_up "$@"
    fi
done

cat >&2 <<'END'
Starlight needs Python 3.11 or later with its venv module, and found none that fits.
On Debian 12+ or Ubuntu 24.04+:  apt-get install git make python3 python3-venv
Elsewhere, name one:              make start PYTHON=/path/to/python3.11
END
exit 1
