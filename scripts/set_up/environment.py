"""The virtual environment .venv: made from the chosen interpreter, filled from a lock file with hashes.

Its stamp names the lock file, the project's own metadata and the interpreter; when they are what they were,
nothing is done. A mark lies in it while it is being filled: one found there means an interrupted set-up,
and the environment is made anew. Environments beside it, for one purpose each, lie in .build.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

LOCKS = {"start": "requirements.lock", "test": "requirements-dev.lock"}
UNDER_WAY = ".starlight-under-way"


def ensure(root: Path, purpose: str) -> None:
    """Makes .venv hold what `purpose` needs. Raises CalledProcessError when pip fails."""
    venv = root / ".venv"
    # What the tests need holds what a start needs.
    if any(is_filled(root, held) for held in {purpose, "test"}):
        return
    if (venv / UNDER_WAY).exists() or not works(venv):
        shutil.rmtree(venv, ignore_errors=True)
    if not venv.exists():
        print(f"set-up: making .venv with {sys.executable}")
        make(venv)
    (venv / UNDER_WAY).touch()
    print(f"set-up: installing {LOCKS[purpose]}")
    install(venv, "--require-hashes", "-r", str(root / LOCKS[purpose]))
    install(venv, "--no-deps", "--no-build-isolation", "-e", str(root))
    write_whole(stamp_of(root, purpose), fingerprint(root, purpose))
    (venv / UNDER_WAY).unlink()


def ensure_aside(root: Path, name: str, *locks: str) -> Path:
    """An environment of its own in .build, for what .venv is to be spared; filled from `locks`, made anew when they
    change. Raises CalledProcessError when pip fails.
    """
    venv = root / ".build" / name
    stamp, wanted = venv / ".starlight-stamp", hashlib.sha256(sys.version.encode())
    for lock in locks:
        wanted.update((root / lock).read_bytes())
    if not stamp.exists() or stamp.read_text() != wanted.hexdigest() or not works(venv):
        print(f"set-up: installing {', '.join(locks)} into .build/{name}")
        shutil.rmtree(venv, ignore_errors=True)
        make(venv)
        install(venv, "--require-hashes", *(word for lock in locks for word in ("-r", str(root / lock))))
        write_whole(stamp, wanted.hexdigest())
    return venv


def is_filled(root: Path, purpose: str) -> bool:
    """Whether .venv was filled for `purpose` with what is wanted now."""
    stamp = stamp_of(root, purpose)
    return stamp.exists() and stamp.read_text() == fingerprint(root, purpose)


def stamp_of(root: Path, purpose: str) -> Path:
    """Where the environment remembers what it was filled with."""
    return root / ".venv" / f".starlight-{purpose}"


def fingerprint(root: Path, purpose: str) -> str:
    """Changes when the environment has to be filled again."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    parts = [
        (root / LOCKS[purpose]).read_text(),
        json.dumps([project["build-system"], project["project"]], sort_keys=True),
        str(root),  # the editable install points here
        str(Path(sys.executable).resolve()),
        sys.version,
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make(venv: Path) -> None:
    """An empty environment with pip."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)


def works(venv: Path) -> bool:
    """Whether the environment's interpreter runs, is the chosen one's version, and has pip."""
    ask = "import pip, sys; print(sys.version)"
    try:
        told = subprocess.run([venv / "bin" / "python", "-c", ask], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return told.strip() == sys.version


def install(venv: Path, *words: str) -> None:
    """pip install, quiet but for errors."""
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*pip, *words], check=True)


def write_whole(path: Path, text: str) -> None:
    """Puts `text` at `path`, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(text)
    draft.replace(path)
