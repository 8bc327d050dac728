"""Python environments that apps need, built on demand from a lock file with hashes, once for all jobs.

Built aside and renamed into place, so that what lies at its name is always whole. An interrupted
build leaves only a directory that the next build takes away. Progress lies beside it, for everyone to
read: `<name>.progress.json` holds {state: building|ready|failed, done, total, message}.

Only wheels are unpacked and every one is checked against its hash, so that nobody's code runs here;
the interpreter is one that jobs can see.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

_LOCKS: Final = Path(__file__).resolve().parent
_BUILD_S: Final = 1800.0
_INTERPRETERS: Final = ("/usr/bin/python3", "/usr/local/bin/python3")
_PASSED_ON: Final = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy")
_CHECK: Final = "import sys, ensurepip; sys.exit(sys.version_info < (3, 11))"
_LAST_WORDS: Final = 300


class Environments:
    """The environments in one directory. State: the builds under way."""

    def __init__(self, directory: Path, locks: Path = _LOCKS) -> None:
        self._directory = directory
        self._locks = locks
        self._turns: dict[str, asyncio.Lock] = {}

    def missing(self, paths: Iterable[Path]) -> list[str]:
        """Those of the directories that are environments of ours and not built, or built from an older lock file."""
        names = [path.name for path in paths if path.parent == self._directory]
        return [name for name in names if self._lock_file(name).exists() and not self._is_current(name)]

    def knows(self, name: str) -> bool:
        """Whether there is an environment of that name to be built."""
        return name.isidentifier() and self._lock_file(name).exists()

    def forget_interrupted(self) -> None:
        """Takes back what a builder that was killed said of its progress: nothing is being built now."""
        for path in self._directory.glob("*.progress.json"):
            if self._read_progress(path.name.removesuffix(".progress.json")).get("state") == "building":
                path.unlink()

    def progress(self, name: str) -> str:
        """One sentence on where the build is."""
        told = self._read_progress(name)
        if told.get("state") == "building":
            return f"{name} is being installed: {told['done']} of {told['total']} packages"
        return f"{name} is about to be installed"

    async def build(self, name: str) -> None:
        """Builds the environment when it is not there yet; those who ask meanwhile wait for the same build.

        Raises OSError with the installer's last words, TimeoutError after half an hour.
        """
        async with self._turns.setdefault(name, asyncio.Lock()):
            if self._is_current(name):
                return
            self._remove_leftovers(name)
            aside = self._directory / f".{name}.{uuid4().hex[:8]}"
            try:
                async with asyncio.timeout(_BUILD_S):
                    await self._build_in(aside, name)
            except BaseException as fault:
                self._tell(name, "failed", message=str(fault)[-_LAST_WORDS:])
                shutil.rmtree(aside, ignore_errors=True)
                raise

    async def _build_in(self, aside: Path, name: str) -> None:
        lock = self._lock_file(name)
        total = sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())
        self._tell(name, "building", total=total)
        await _run([await _interpreter(), "-m", "venv", str(aside)])
        install = [str(aside / "bin/python"), "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
        install += ["--no-cache-dir", "--require-hashes", "--only-binary", ":all:", "-r", str(lock)]
        done = 0
        async for line in _lines(install):
            if line.lstrip().startswith("Collecting "):
                done += 1
                self._tell(name, "building", done=min(done, total), total=total)
        self._put_in_place(aside, name)
        self._tell(name, "ready", done=total, total=total)

    def _put_in_place(self, aside: Path, name: str) -> None:
        final = self._directory / name
        _rename_inside(aside, final)
        (aside / "starlight-lock").write_text(self._digest(name), encoding="ascii")
        aside.chmod(0o755)
        if final.exists():  # jobs that run in the older one keep it: it is only out of sight
            final.rename(self._directory / f".{name}.old-{uuid4().hex[:8]}")
        aside.rename(final)

    def _is_current(self, name: str) -> bool:
        with suppress(OSError):
            return (self._directory / name / "starlight-lock").read_text(encoding="ascii") == self._digest(name)
        return False

    def _remove_leftovers(self, name: str) -> None:
        for path in self._directory.glob(f".{name}.*"):
            if not path.name.startswith(f".{name}.old-"):
                shutil.rmtree(path, ignore_errors=True)

    def _lock_file(self, name: str) -> Path:
        return self._locks / f"{name}.lock"

    def _digest(self, name: str) -> str:
        return hashlib.sha256(self._lock_file(name).read_bytes()).hexdigest()

    def _read_progress(self, name: str) -> dict[str, Any]:
        with suppress(OSError, ValueError):
            told: dict[str, Any] = json.loads((self._directory / f"{name}.progress.json").read_bytes())
            return told
        return {}

    def _tell(self, name: str, state: str, *, done: int = 0, total: int = 0, message: str = "") -> None:
        path = self._directory / f"{name}.progress.json"
        aside = path.with_suffix(".new")
        aside.write_text(json.dumps({"state": state, "done": done, "total": total, "message": message}), "utf-8")
        aside.chmod(0o644)
        aside.replace(path)


async def _interpreter() -> str:
    """One that every job sees, has the venv module, and is new enough. Raises FileNotFoundError with the way out."""
    for path in filter(os.path.exists, _INTERPRETERS):
        with suppress(OSError):
            await _run([path, "-I", "-c", _CHECK])
            return path
    raise FileNotFoundError(2, "no python3 (3.11 or newer) with venv that jobs can see: apt install python3-venv")


async def _run(command: list[str]) -> None:
    async for _ in _lines(command):
        pass


async def _lines(command: list[str]) -> Any:
    """The output of a program, line by line. Raises OSError with its last words when it fails."""
    program = await asyncio.create_subprocess_exec(
        "setpriv", "--pdeathsig", "KILL", *command,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env=_environment(), limit=1 << 20,
    )  # fmt: skip
    assert program.stdout is not None
    words = ""
    try:
        async for raw in program.stdout:
            line = raw.decode("utf-8", "replace")
            words = (words + line)[-_LAST_WORDS:]
            yield line
        if await program.wait() != 0:
            raise OSError(words.strip() or f"{command[0]} failed")
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


def _environment() -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/nonexistent", **passed}


def _rename_inside(built: Path, final: Path) -> None:
    """Scripts and settings of a virtual environment name its directory: let them name the one where it will lie."""
    for path in (*(built / "bin").iterdir(), built / "pyvenv.cfg"):
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if os.fsencode(built) in content and b"\0" not in content:
            path.write_bytes(content.replace(os.fsencode(built), os.fsencode(final)))
