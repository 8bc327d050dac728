"""The server under test, and the clients that are run at it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended."""

    status: int
    out: bytes
    err: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """Where the server listens and as whom to sign in; `scratch` is a directory of this side."""

    host: str
    port: int
    user: str
    identity: Path
    scratch: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """As ssh and scp want it."""
        return f"{self.user}@{self.host}"

    def options(self, port_flag: str = "-p") -> list[str]:
        """The words that every OpenSSH client gets: this port, this key, nothing of this machine's configuration."""
        return [
            *("-F", "none", port_flag, str(self.port), "-i", str(self.identity), "-o", "IdentitiesOnly=yes"),
            *("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
            *("-o", "LogLevel=ERROR", "-o", "ConnectTimeout=15"),
        ]

    def line(self, *command: str | bytes, flags: tuple[str, ...] = ()) -> list[str | bytes]:
        """The words of one ssh."""
        return ["ssh", *flags, *self.options(), self.where, *command]

    def ssh(
        self,
        *command: str | bytes,
        flags: tuple[str, ...] = (),
        stdin: bytes | None = b"",
        deadline_s: float = DEADLINE_S,
        env: dict[str, str] | None = None,
    ) -> Done:
        """Runs ssh to its end; `stdin` None is no input at all (`ssh < /dev/null`)."""
        return run(self.line(*command, flags=flags), stdin=stdin, deadline_s=deadline_s, env=env)

    @contextmanager
    def started(self, *command: str, flags: tuple[str, ...] = (), **more: Any) -> Iterator[subprocess.Popen[bytes]]:
        """An ssh that runs for as long as the block."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(self.line(*command, flags=flags), stdin=pipe, stdout=pipe, stderr=pipe, **more)
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            for stream in filter(None, (process.stdin, process.stdout, process.stderr)):
                with suppress(OSError):  # what was written to it is of no use any more
                    stream.close()

    @contextmanager
    def master(self) -> Iterator[Master]:
        """A shared connection (ControlMaster)."""
        path = tempfile.mktemp(prefix="s-", dir=self.scratch)  # noqa: S306 - ssh makes it, in a directory of ours
        shared = Master(self, ("-S", path))
        started = self.ssh(flags=(*shared.flags, "-MNf", "-E", "/dev/null"), stdin=None)
        assert started.status == 0, started
        try:
            yield shared
        finally:
            shared.control("exit")

    def asyncssh(self, **more: Any) -> Any:
        """A connection of the asyncssh library, to be awaited."""
        return asyncssh.connect(
            self.host, self.port, username=self.user, client_keys=[str(self.identity)],
            known_hosts=None, config=None, agent_path=None, **more,
        )  # fmt: skip

    @contextmanager
    def remote_program(self, source: str) -> Iterator[int]:
        """A python3 program of the server's side that prints its port first; that port."""
        with self.started(f"exec python3 -u -c '{source}'") as process:
            assert process.stdout is not None
            yield int(process.stdout.readline())


@dataclass(frozen=True, slots=True)
class Master:
    """A shared connection; `flags` make an ssh use it."""

    target: Target
    flags: tuple[str, ...]

    def ssh(self, *command: str, stdin: bytes | None = b"") -> Done:
        """One more session over it."""
        return self.target.ssh(*command, flags=self.flags, stdin=stdin)

    def control(self, verb: str, *forward: str) -> Done:
        """`ssh -O VERB`."""
        return self.target.ssh(flags=(*self.flags, "-O", verb, *forward), stdin=None)


def run(
    words: list[str | bytes],
    *,
    stdin: bytes | None = b"",
    deadline_s: float = DEADLINE_S,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Done:
    """Runs a program to its end. Raises TimeoutExpired when that takes too long."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run(
        words,
        capture_output=True,
        timeout=deadline_s,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        **given,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def eventually(probe: Callable[[], Any], within_s: float = 15.0) -> Any:
    """The first truthy answer of `probe`; the last one when none came in time."""
    deadline = time.monotonic() + within_s
    while not (answer := probe()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer
