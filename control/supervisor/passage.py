"""Which folders hide the program or the data from the workers' own uids, and what to show them instead.

A checkout below /root (mode 0700) cannot be read by another uid, however its own files are set. `plan`
finds such ancestors; `launch.py` then starts the worker in a mount namespace of its own, where each is an
empty folder with only the needed trees bound back at their own paths.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
_HOUSES: Final = ("control", "gateway", "certs")


@dataclass(frozen=True, slots=True)
class Passage:
    """Folders to replace by empty ones (`hidden`) and the trees below them to bind back (`shown`)."""

    hidden: tuple[str, ...]
    shown: tuple[str, ...]


def program_trees() -> list[Path]:
    """Where the program lies: our houses, the virtual environment, and the interpreter it was made from."""
    interpreter = Path(sys.executable).resolve().parent
    return [
        *(ROOT / house for house in _HOUSES),
        Path(sys.prefix).resolve(),
        Path(sys.base_prefix).resolve(),
        interpreter,
    ]


def plan(trees: Iterable[Path]) -> Passage:
    """What stands between other uids and `trees`."""
    outermost: list[Path] = []
    for tree in sorted(set(trees)):
        if not any(tree.is_relative_to(held) for held in outermost):
            outermost.append(tree)
    hidden = sorted({blocked for tree in outermost if (blocked := _blocked(tree))})
    shown = [tree for tree in outermost if any(tree.is_relative_to(folder) for folder in hidden)]
    return Passage(tuple(map(str, hidden)), tuple(map(str, shown)))


def unreadable(trees: Iterable[Path]) -> list[Path]:
    """Those of `trees` that other uids cannot read even when they get there."""
    return [tree for tree in trees if not tree.stat().st_mode & stat.S_IROTH or not tree.stat().st_mode & stat.S_IXOTH]


def _blocked(tree: Path) -> Path | None:
    for ancestor in reversed(tree.parents):
        if not ancestor.stat().st_mode & stat.S_IXOTH:
            return ancestor
    return None
