"""A whole ssh entry for tests: table, visits, a fake control that judges passwords, a fake bridge, real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from gateway.config import GatewayConfig, Role
from gateway.contract.codec import Change, Record, key_of, kind_of
from gateway.contract.feed import Question
from gateway.contract.people import Grant, Key
from gateway.contract.routes import Entry, Job, Secret
from gateway.core.ssh_name import split
from gateway.core.table import Table
from gateway.entries import ssh
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.gate import Gate
from gateway.wire.visits import Visits
from tests.gateway.core.ssh_world import ALICE, BOB, NOW, job, ssh_entry
from tests.gateway.entries.ssh.fake_bridge import FakeBridge

PASSWORD = "correct horse"
_HOST_KEY = asyncssh.generate_private_key("ssh-ed25519")
KEYS = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("alice", "bob", "stranger")}


@dataclass
class Done:
    """How a program ended."""

    status: int
    out: bytes
    err: str


@dataclass
class World:
    """What a test can do: edit the table, run clients against the gateway, look at what the bridge was asked."""

    home: Path
    gate: Gate
    table: Table
    visits: Visits
    bridge: FakeBridge
    port: int
    asked: list[dict[str, Any]]
    control: dict[str, Any]
    stop: Callable[[], object]

    def put(self, *records: Record) -> None:
        """Records come or change, as the feed would bring them; withdrawn visits are cut."""
        for record in records:
            self._apply(Change(self.table.revision + 1, kind_of(record), key_of(record), record))

    def drop(self, *records: Record) -> None:
        """Records go."""
        for record in records:
            self._apply(Change(self.table.revision + 1, kind_of(record), key_of(record), None))

    def _apply(self, change: Change) -> None:
        self.visits.withdraw(self.table.apply(change))

    def options(self, user: str = "alice", *more: str) -> list[str]:
        """OpenSSH options: this gateway, Alice's key, no configuration of the machine."""
        return [
            "-F", "none", "-o", f"Port={self.port}", "-o", "StrictHostKeyChecking=no", "-o", "BatchMode=yes",
            "-o", f"UserKnownHostsFile={self.home / 'known_hosts'}", "-o", "LogLevel=ERROR",
            "-o", "IdentitiesOnly=yes", "-o", f"IdentityFile={self.home / user}", "-o", "ConnectTimeout=10", *more,
        ]  # fmt: skip

    async def ssh(
        self,
        *command: str | bytes,
        user: str = "alice",
        options: tuple[str, ...] = (),
        stdin: bytes | None = b"",
        timeout: float = 20,
    ) -> Done:
        """Runs `ssh USER@gateway COMMAND`."""
        key = split(user).user
        return await run(
            "ssh", *options, *self.options(key), f"{user}@127.0.0.1", *command, stdin=stdin, timeout=timeout
        )

    async def client(self, user: str = "alice", **more: Any) -> asyncssh.SSHClientConnection:
        """An asyncssh client that signs in with its key."""
        key = KEYS[user.split("+", maxsplit=1)[0]]
        return await asyncssh.connect(
            *(() if "sock" in more else ("127.0.0.1", self.port)),
            username=user,
            client_keys=[key],
            known_hosts=None,
            config=None,
            agent_path=None,
            **more,
        )


async def run(
    *argv: str | bytes,
    stdin: bytes | None = b"",
    timeout: float = 20,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Done:
    """Runs a program to its end; kills it and raises TimeoutError when it takes longer than twenty seconds."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
        cwd=cwd,
    )
    try:
        async with asyncio.timeout(20):
            out, err = await process.communicate(stdin)
    except TimeoutError:
        process.kill()
        await process.communicate()
        raise
    return Done(process.returncode or 0, out, err.decode("utf-8", "replace"))


def lone_job(job_id: str = "jupyter-17", *, name: str = "训练", number: int = 17) -> tuple[Job, Entry]:
    """A job of Alice's with its ssh entry."""
    made = job(job_id, name=name)
    return made, ssh_entry(number, made)


@contextlib.asynccontextmanager
async def world(
    tmp_path: Path, *records: Record, entry_port: bool = False, narrow: bool = False, idle_s: float | None = None
) -> AsyncIterator[World]:
    """A gateway that serves ssh, with Alice, Bob, their keys and these records; `narrow`: the kernel buffers little."""
    home = tmp_path / "home"
    home.mkdir()
    for name, key in KEYS.items():
        key.write_private_key(home / name)
        (home / name).chmod(0o600)
        key.write_public_key(home / f"{name}.pub")
    keys = [Key(user.id, user.id, KEYS[user.name].get_fingerprint()) for user in (ALICE, BOB)]
    secret = Secret("ssh-host-1", "ssh-host", 1, _HOST_KEY.export_private_key().decode())
    table = Table()
    table.replace([ALICE, BOB, *keys, secret, *records], 1)
    table.confirm(NOW)
    asked: list[dict[str, Any]] = []
    control: dict[str, Any] = {}

    async def asking(question: Question, arguments: dict[str, Any]) -> dict[str, Any] | None:
        asked.append(arguments)
        if "answer" in control:
            answer: dict[str, Any] | None = control["answer"]
            return answer
        user = table.user_by_name(arguments["user"])
        if user is None or arguments["password"] != PASSWORD:
            return {"ok": False, "code": "wrong_password"}
        return {"ok": True, "user_id": user.id}

    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        if narrow:
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                listener.setsockopt(socket.SOL_SOCKET, option, 8192)
        port = listener.getsockname()[1]
        config = GatewayConfig(
            role=Role.SSH, name="ssh-0", run_dir=tmp_path, state_dir=tmp_path, assets_dir=tmp_path, dial_s=5, drain_s=1,
            ssh_port=0 if entry_port else port, ssh_idle_s=idle_s,
        )  # fmt: skip
        visits, bridge = Visits("ssh-0"), FakeBridge(tmp_path, home)
        gate = Gate(config, table, visits, Bridge(tmp_path, lambda: NOW), Ask(asking), lambda: NOW)
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(ssh.serve(gate, listener, port=port))
            bridging = tasks.create_task(bridge.run())
            made = World(home, gate, table, visits, bridge, port, asked, control, serving.cancel)
            try:
                yield made
            finally:
                serving.cancel()
                await asyncio.wait([serving])
                bridging.cancel()


__all__ = ["ALICE", "BOB", "KEYS", "PASSWORD", "Done", "Grant", "World", "job", "lone_job", "run", "ssh_entry", "world"]
