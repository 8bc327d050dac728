"""A stage for the real control process: a supervisor that lends listeners, a bridge that plays jobs.

Both speak the real protocols over real sockets; they live in the test, so that they outlast control.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp

from certs.store import load_or_make
from control.clock import utcnow
from gateway.contract import calls
from gateway.contract.bridge import Call, Fault, Reply, Verb, decode_call, encode_reply
from gateway.contract.calls import Answer, Peer

PASSWORD: Final = "first-password"
ROOT: Final = Path(__file__).resolve().parents[2]
_NAMES: Final = ("proxy.localhost", "*.proxy.localhost", "console.localhost")


class PlayedBridge:
    """A bridge whose jobs are what the test says they are. `calls` is what it was asked, in order."""

    def __init__(self) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.specs: dict[str, dict[str, Any]] = {}
        self.calls: list[Call] = []
        self.starts = 0
        self.deaf_to: set[Verb] = set()
        self.refuses: Fault | None = None
        self.begins = asyncio.Event()

    async def answer(self, message: bytes, _peer: Peer) -> Answer:
        """One call's answer."""
        call = decode_call(message)
        self.calls.append(call)
        if call.verb in self.deaf_to:
            raise OSError("deaf")
        return encode_reply(self._reply(call)), ()

    def ends(self, job: str, **outcome: Any) -> None:
        """The job ends this way."""
        self.jobs[job] |= {"state": "ended", "ended_at": utcnow().timestamp(), "cause": "exit", **outcome}

    def _reply(self, call: Call) -> Reply:
        match call.verb:
            case Verb.START if call.subject.startswith("app:"):
                return Reply({"state": "building"})
            case Verb.START:
                return self._start(call.subject, call.args["spec"])
            case Verb.PROBE:
                return Reply({"jobs": {job: self.jobs[job] for job in call.args["jobs"] if job in self.jobs}})
            case Verb.CAPABILITIES:
                return Reply({"isolation": "full", "network": "loopback", "limits": {}, "sftp": True, "why": {}})
            case _ if call.subject not in self.jobs:
                return Reply(fault=Fault.NOT_FOUND)
            case Verb.STOP:
                if self.jobs[call.subject]["state"] != "ended":
                    self.ends(call.subject, cause="stopped", signal="TERM")
            case Verb.SIGNAL:
                halted = call.args["signal"] == "STOP"
                self.jobs[call.subject]["state"] = "suspended" if halted else "running"
        return Reply()

    def _start(self, job: str, spec: dict[str, Any]) -> Reply:
        if self.refuses is not None:
            return Reply(fault=self.refuses, detail="/inner/path")
        if job not in self.jobs:
            self.starts += 1
            self.specs[job] = spec
            now = utcnow().timestamp()
            self.jobs[job] = {"state": "running", "started_at": now, "node": "node-1", "events": []}
        self.begins.set()
        return Reply({"handle": {"job": job, "shim_pid": 1, "boot": "b"}, "isolation": {}})


@dataclass
class Stage:
    """A data directory with a supervisor and a bridge in it."""

    data_dir: Path
    bridge: PlayedBridge = field(default_factory=PlayedBridge)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    reserved: set[int] = field(default_factory=set)
    busy: set[int] = field(default_factory=set)
    listeners: dict[str, socket.socket] = field(default_factory=dict)
    database_url: str = ""

    @property
    def run_dir(self) -> Path:
        """Where the sockets lie."""
        return self.data_dir / "run"

    @asynccontextmanager
    async def control(self, *, lifeline: int | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
        """A control process that serves; killed at the end, if it still lives. `lifeline`: the pipe's read end."""
        self.ready.clear()
        environment = {
            "PATH": os.defpath,
            "STARLIGHT_DATA_DIR": str(self.data_dir),
            "STARLIGHT_RUN_DIR": str(self.run_dir),
            "STARLIGHT_NAME": "control",
            "STARLIGHT_FEED_KEY": "00" * 32,
            "STARLIGHT_ADMIN_PASSWORD": PASSWORD,
            **({"STARLIGHT_DATABASE_URL": self.database_url} if self.database_url else {}),
            **({} if lifeline is None else {"STARLIGHT_LIFELINE_FD": str(lifeline)}),
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "control"),
            cwd=ROOT,
            env=environment,
            pass_fds=() if lifeline is None else (lifeline,),
        )
        try:
            async with asyncio.timeout(30):
                await self.ready.wait()
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    @asynccontextmanager
    async def api(self) -> AsyncIterator[aiohttp.ClientSession]:
        """A client of the API, signed in as admin."""
        path = str(self.run_dir / "control.sock")
        async with aiohttp.ClientSession("http://console", connector=aiohttp.UnixConnector(path)) as client:
            body = {"username": "admin", "password": PASSWORD}
            async with client.post("/api/v1/sessions", json=body) as answer:
                assert answer.status == 201, await answer.text()
                client.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
            yield client

    async def answer(self, message: bytes, _peer: Peer) -> Answer:
        """The supervisor's answers."""
        match json.loads(message):
            case {"verb": "listener", "name": name} if name in self.listeners:
                return b'{"ok": true}', (os.dup(self.listeners[name].fileno()),)
            case {"verb": "reserve", "port": port} if port in self.busy:
                return b'{"ok": false, "code": "busy", "detail": "somebody"}', ()
            case {"verb": "reserve", "port": port}:
                self.reserved.add(port)
            case {"verb": "release", "port": port}:
                self.reserved.discard(port)
            case {"verb": "keep", "ports": ports, "first": first, "last": last}:
                self.reserved -= {port for port in self.reserved if first <= port <= last} - set(ports)
            case {"verb": "ready"}:
                self.ready.set()
            case _:
                return b'{"ok": false, "code": "bad_request", "detail": "no such thing"}', ()
        return b'{"ok": true}', ()


@asynccontextmanager
async def staged(data_dir: Path) -> AsyncIterator[Stage]:
    """A stage with its supervisor and bridge at work. To be entered by the test itself: it owns a TaskGroup."""
    stage = Stage(data_dir)
    stage.run_dir.mkdir()
    tls = data_dir / "control" / "tls"
    tls.mkdir(parents=True)
    load_or_make(tls, _NAMES, now=utcnow())
    listeners: Sequence[tuple[str, int]] = (("control", socket.SOCK_STREAM), ("feed", socket.SOCK_STREAM))
    for name, kind in listeners:
        stage.listeners[name] = calls.listen(str(stage.run_dir / f"{name}.sock"), kind=kind)
    desk = calls.listen(str(stage.run_dir / "supervisor.sock"))
    bridge = calls.listen(str(stage.run_dir / "bridge-local.sock"))
    try:
        async with asyncio.TaskGroup() as group:
            serving = [
                group.create_task(calls.serve(desk, stage.answer, deadline_s=5)),
                group.create_task(calls.serve(bridge, stage.bridge.answer, deadline_s=5)),
            ]
            yield stage
            for task in serving:
                task.cancel()
    finally:
        for listener in (*stage.listeners.values(), desk, bridge):
            listener.close()


async def terminate(process: asyncio.subprocess.Process) -> int:
    """Asks a process to end; its exit status."""
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(15):
        return await process.wait()
