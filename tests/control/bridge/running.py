"""A real bridge process with real jobs, for tests: its supervisor's socket is served by the test."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from control.bridge.truth import is_alive, read_status, settle
from gateway.contract.bridge import (
    FRAME_HEAD_BYTES,
    Call,
    FrameKind,
    Reply,
    Verb,
    decode_frame_head,
    decode_reply,
    encode_call,
    encode_frame,
    encode_frame_json,
)
from gateway.contract.calls import Answer, Peer, call, listen, serve

ROOT: Final = Path(__file__).resolve().parents[3]
JOB_UID_BASE: Final = 700001000
ORDINARY_UID: Final = 61234
"""No account of this machine has it."""
DEADLINE_S: Final = 30.0


class Bridge:
    """One data directory and the bridge process that serves it."""

    def __init__(self, data_dir: Path, uid: int | None, wrapper: Sequence[str] = ()) -> None:
        """`wrapper` is a command that is given the bridge's own to run, and to become `uid` itself."""
        self._wrapper = wrapper
        self.data_dir = data_dir
        self.run_dir = data_dir / "run"
        self.uid = uid
        self.ready = asyncio.Event()
        self.process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Starts the process and waits until it says that it serves."""
        self.ready.clear()
        as_root = os.geteuid() == 0 and self.uid is None
        environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": "/nonexistent",
            "STARLIGHT_DATA_DIR": str(self.data_dir),
            "STARLIGHT_RUN_DIR": str(self.run_dir),
            "STARLIGHT_NAME": "bridge-local",
            "STARLIGHT_JOB_UID_BASE": str(JOB_UID_BASE) if as_root else "",
            "STARLIGHT_CONTROL_UID": str(os.getuid() if self.uid is None else self.uid),
            "STARLIGHT_GATEWAY_UID": str(os.getuid() if self.uid is None else self.uid),
            "STARLIGHT_FEED_KEY": "00" * 32,
        }
        uid = None if self._wrapper else self.uid
        self.process = subprocess.Popen(
            [*self._wrapper, sys.executable, "-m", "control.bridge"], env=environment, cwd=ROOT,
            user=uid, group=uid, extra_groups=None if uid is None else [],
        )  # fmt: skip
        async with asyncio.timeout(DEADLINE_S):
            await self.ready.wait()

    def kill(self) -> None:
        """kill -9."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, and its end."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=DEADLINE_S)

    async def ask(self, verb: Verb, subject: str, **args: Any) -> tuple[Reply, list[int]]:
        """One call."""
        message = encode_call(Call(verb, subject, args))
        reply, descriptors = await call(str(self.run_dir / "bridge-local.sock"), message, deadline_s=DEADLINE_S)
        return decode_reply(reply), descriptors

    async def submit(self, job: str, command: list[str], *, person: int = 1, **spec: Any) -> Reply:
        """Starts a job of the person with this number."""
        home = self.data_dir / "homes" / f"user{person}"
        uid = JOB_UID_BASE + person if os.geteuid() == 0 and self.uid is None else None
        plain = {
            "job": job,
            "owner": {"name": f"user{person}", "uid": uid},
            "home": str(home),
            "work_dir": str(home / "jobs" / job),
            "command": command,
            "env": {},
            "cpus": 1,
            "memory_bytes": None,
            "time_limit_s": None,
            "readonly": [],
            "log_limit_bytes": 1 << 24,
        }
        reply, _ = await self.ask(Verb.START, job, spec=plain | spec)
        return reply

    async def state(self, job: str) -> dict[str, Any]:
        """What the bridge says of the job."""
        reply, _ = await self.ask(Verb.PROBE, "local", jobs=[job])
        found: dict[str, Any] = reply.result["jobs"].get(job, {"state": "absent"})
        return found

    async def until(self, job: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Asks until the job is as wanted."""
        async with asyncio.timeout(DEADLINE_S):
            while not wanted(found := await self.state(job)):
                await asyncio.sleep(0.02)
        return found

    async def running(self, job: str) -> dict[str, Any]:
        """Waits until the command runs."""
        found = await self.until(job, lambda found: found["state"] not in ("starting", "absent"))
        assert found["state"] == "running", found
        return found

    async def ended(self, job: str) -> dict[str, Any]:
        """Waits for the job's end."""
        return await self.until(job, lambda found: found["state"] in ("ended", "lost"))

    async def log(self, job: str) -> bytes:
        """The job's output so far."""
        _, descriptors = await self.ask(Verb.LOG, job)
        content = os.pread(descriptors[0], 1 << 25, 0)
        for descriptor in descriptors:
            os.close(descriptor)
        return content

    async def shell(self, job: str, command: str | None = None, pty: dict[str, Any] | None = None) -> Stream:
        """Opens a shell session."""
        reply, descriptors = await self.ask(Verb.SHELL, job, command=command, env={}, pty=pty)
        assert reply.fault is None, reply
        return Stream(socket.socket(fileno=descriptors[0]))

    async def run(self, job: str, command: str) -> tuple[bytes, dict[str, Any]]:
        """Runs a command in the job to its end: both outputs and how it ended."""
        stream = await self.shell(job, command)
        stream.send(FrameKind.EOF)
        return await stream.rest()

    def shim_pid(self, job: str) -> int:
        """The pid of the job's shim."""
        status = read_status(self.data_dir / "bridge" / "jobs" / job)
        assert status is not None
        return int(status["shim"]["pid"])

    def keepers(self, job: str) -> list[dict[str, Any]]:
        """The processes that must not outlive the job."""
        status = read_status(self.data_dir / "bridge" / "jobs" / job)
        assert status is not None
        return list(status["keepers"])

    async def nothing_left(self, job: str) -> None:
        """Waits until none of the job's keepers lives."""
        async with asyncio.timeout(DEADLINE_S):
            while any(map(is_alive, self.keepers(job))):
                await asyncio.sleep(0.02)


class Stream:
    """A gateway's end of a session."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock

    def send(self, kind: FrameKind, payload: bytes = b"", **fields: Any) -> None:
        """Sends one small frame."""
        self.sock.send(encode_frame_json(kind, **fields) if fields else encode_frame(kind, payload))

    async def send_all(self, content: bytes) -> None:
        """Sends bytes of any length as DATA frames."""
        loop = asyncio.get_running_loop()
        for start in range(0, len(content), 100_000):
            await loop.sock_sendall(self.sock, encode_frame(FrameKind.DATA, content[start : start + 100_000]))

    async def frame(self) -> tuple[FrameKind, bytes] | None:
        """The next frame; None at the end."""
        async with asyncio.timeout(DEADLINE_S):
            head = await self._exactly(FRAME_HEAD_BYTES)
            if not head:
                return None
            kind, length = decode_frame_head(head)
            return kind, await self._exactly(length)

    async def until(self, part: bytes) -> bytes:
        """Output up to and with `part`."""
        seen = b""
        while part not in seen:
            frame = await self.frame()
            assert frame is not None, seen
            assert frame[0] is FrameKind.DATA, (frame, seen)
            seen += frame[1]
        return seen

    async def frames(self) -> list[tuple[FrameKind, bytes]]:
        """All frames to the end."""
        found = []
        while (frame := await self.frame()) is not None:
            found.append(frame)
        self.sock.close()
        return found

    async def rest(self) -> tuple[bytes, dict[str, Any]]:
        """All further output, both kinds, and the EXIT frame's fields."""
        found = await self.frames()
        output = b"".join(payload for kind, payload in found if kind in (FrameKind.DATA, FrameKind.ERROR))
        assert [kind for kind, _ in found[-2:]] == [FrameKind.EOF, FrameKind.EXIT], found
        return output, json.loads(found[-1][1])

    async def _exactly(self, length: int) -> bytes:
        parts = b""
        while len(parts) < length:
            part = await asyncio.get_running_loop().sock_recv(self.sock, length - len(parts))
            if not part:
                break
            parts += part
        return parts


def starters() -> list[int | None]:
    """As whom the bridge can be started here: as ourselves, and when that is root, also as an ordinary user."""
    return [None, ORDINARY_UID] if os.geteuid() == 0 else [None]


@pytest_asyncio.fixture(
    params=starters(),
    ids=lambda uid: "as-ourselves" if uid is None else "as-a-user",
    scope="module",
    loop_scope="module",
)
async def bridge(request: pytest.FixtureRequest) -> AsyncIterator[Bridge]:
    """A running bridge with a data directory of its own; the tests of one module share it."""
    async with running_bridge(request.param) as running:
        yield running


@asynccontextmanager
async def running_bridge(uid: int | None = None, wrapper: Sequence[str] = ()) -> AsyncIterator[Bridge]:
    """A bridge on a data directory of its own, as root or as the user `uid`; afterwards nothing of it is left."""
    data_dir = Path(tempfile.mkdtemp(prefix="starlight-", dir="/var/tmp"))
    data_dir.chmod(0o755)
    (data_dir / "run").mkdir()
    if uid is not None:
        for path in (data_dir, data_dir / "run"):
            os.chown(path, uid, uid)
    bridge = Bridge(data_dir, uid, wrapper)
    try:
        with (
            listen(str(bridge.run_dir / "bridge-local.sock"), mode=0o666) as listener,
            listen(str(bridge.run_dir / "supervisor.sock"), mode=0o666) as supervisor,
        ):
            serving = asyncio.get_running_loop().create_task(_serve(supervisor, bridge, listener))
            try:
                await bridge.start()
                yield bridge
            finally:
                bridge.stop()
                _end_jobs(data_dir)
                serving.cancel()
                await asyncio.wait([serving])
    finally:
        shutil.rmtree(data_dir)


async def _serve(supervisor: socket.socket, bridge: Bridge, listener: socket.socket) -> None:
    await serve(supervisor, _supervise(bridge, listener), deadline_s=5)


def _supervise(bridge: Bridge, listener: socket.socket) -> Callable[[bytes, Peer], Any]:
    async def answer(message: bytes, _peer: Peer) -> Answer:
        verb = json.loads(message)["verb"]
        if verb == "ready":
            bridge.ready.set()
        return b'{"ok": true}', [os.dup(listener.fileno())] if verb == "listener" else []

    return answer


def _end_jobs(data_dir: Path) -> None:
    for status_file in data_dir.glob("bridge/*/*/status.json"):
        shim = json.loads(status_file.read_bytes())["shim"]
        while is_alive(shim):
            with suppress(ProcessLookupError):
                os.kill(shim["pid"], signal.SIGKILL)
        settle(status_file.parent, 0.0)
