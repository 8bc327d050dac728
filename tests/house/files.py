"""The files that the house rules are about."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOUSES = ("gateway", "control", "certs")
_NOT_OURS = {"node_modules", "dist", "__pycache__"}


def sources() -> list[Path]:
    """Every Python source file of the three houses, relative to the root."""
    found = [path.relative_to(ROOT) for house in HOUSES for path in (ROOT / house).rglob("*.py")]
    return sorted(path for path in found if not _NOT_OURS & set(path.parts))


def tracked() -> list[Path]:
    """Every file under version control that still exists, relative to the root."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]
