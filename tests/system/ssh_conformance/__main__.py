"""`python -m tests.system.ssh_conformance HOST -p PORT -l USER -i KEY` judges an ssh server; status 1 when it fails."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.system.ssh_conformance.cases import Case, run_all
from tests.system.ssh_conformance.commands import COMMANDS
from tests.system.ssh_conformance.files import FILES
from tests.system.ssh_conformance.forwards import FORWARDS
from tests.system.ssh_conformance.target import Target
from tests.system.ssh_conformance.terminals import TERMINALS
from tests.system.ssh_conformance.transport import TRANSPORT

ALL = (*COMMANDS, *FILES, *TERMINALS, *FORWARDS, *TRANSPORT)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(
        prog="ssh_conformance", description="Judges an ssh server by what sshd does right."
    )
    parser.add_argument("host")
    parser.add_argument("-p", "--port", type=int, default=22)
    parser.add_argument("-l", "--user", required=True)
    parser.add_argument("-i", "--identity", type=Path, required=True, help="a private key that signs in")
    parser.add_argument("--only", metavar="WORD", help="only the cases in whose name or sentence the word is")
    parser.add_argument("--heavy", action="store_true", help="also those that move much or take long")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ssh-conformance-") as scratch:
        target = Target(asked.host, asked.port, asked.user, asked.identity.absolute(), Path(scratch))
        cases = chosen(asked.only, heavy=asked.heavy)
        print(f"1..{len(cases)}")
        return 1 if run_all(cases, target, sys.stdout) else 0


def chosen(word: str | None, *, heavy: bool) -> list[Case]:
    """The cases that were asked for."""
    return [case for case in ALL if (heavy or not case.heavy) and (not word or word in f"{case.name} {case.says}")]


if __name__ == "__main__":
    sys.exit(main())
