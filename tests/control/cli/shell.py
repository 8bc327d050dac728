"""The `starlight` command as a person's shell runs it: a program of its own, with its own environment."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from control.domain.people import Role
from tests.control.api.desk import PASSWORD, Caller, Desk

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Ran:
    """How a command came out."""

    status: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """What it printed."""
        return self.raw.decode()

    @property
    def json(self) -> Any:
        """What it printed with --json."""
        return json.loads(self.raw)


@dataclass
class Shell:
    """A shell with a home of its own; `caller` is the same person at the API."""

    home: Path
    url: str
    caller: Caller

    async def run(self, *words: str, env: dict[str, str] | None = None, typed: str = "") -> Ran:
        """Runs `starlight WORDS`; `typed` is its input."""
        environment = {"HOME": str(self.home), "LANG": "en_US.UTF-8", "PYTHONUTF8": "1"} | (env or {})
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "control.cli", *words,
            cwd=ROOT, env=environment,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(60):
            out, err = await program.communicate(typed.encode())
        assert program.returncode is not None
        return Ran(program.returncode, out, err.decode())


async def signed_in(desk: Desk, home: Path, name: str, role: Role = Role.USER) -> Shell:
    """A new person with a shell in which they ran `starlight login`."""
    home.mkdir()
    shell = Shell(home, desk.base, await desk.person(name, role))
    ran = await shell.run("login", desk.base, "--user", name, "--password-stdin", typed=PASSWORD + "\n")
    assert ran.status == 0, ran.err
    return shell
