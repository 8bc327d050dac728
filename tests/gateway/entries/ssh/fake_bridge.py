"""A bridge for tests: the real protocol, real processes and ptys, no isolation.

Each subject gets `JOB` in its environment, so that a test sees where it came out.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
from asyncio.subprocess import Process
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from control.agent.inner.listen import Listening
from control.agent.inner.listen import listen as listen_inside
from gateway.contract.bridge import (
    FRAME_HEAD_BYTES,
    Call,
    Fault,
    FrameKind,
    Reply,
    Verb,
    decode_call,
    decode_frame_head,
    encode_frame,
    encode_frame_json,
    encode_reply,
)
from gateway.contract.calls import Peer, listen, serve

SFTP_SERVER = "/usr/lib/openssh/sftp-server"


class FakeBridge:
    """Serves `run_dir`/bridge-local.sock. `calls` holds what was asked; `away` refuses everything."""

    def __init__(self, run_dir: Path, home: Path) -> None:
        """Processes run in `home`."""
        self.calls: list[Call] = []
        self.fault: Fault | None = None
        self.reached: dict[tuple[str, int], int] = {}
        self.keys: dict[str, bytes] = {}
        self.cannot_listen: Fault | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self._home = home
        self._listener = listen(str(run_dir / "bridge-local.sock"))
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Answers until cancelled."""
        with self._listener:
            async with asyncio.TaskGroup() as self._tasks:
                await serve(self._listener, self._answer, deadline_s=30)

    async def _answer(self, message: bytes, _peer: Peer) -> tuple[bytes, Sequence[int]]:
        call = decode_call(message)
        self.calls.append(call)
        await self.gate.wait()
        if self.fault is not None:
            return encode_reply(Reply(fault=self.fault, detail="as the test wants")), []
        if call.verb is Verb.KEYS:
            return self._keys(call)
        if call.verb is Verb.CONNECT:
            return await self._connect(call.args)
        if call.verb is Verb.REACH:
            port = self.reached.get((call.args["host"], call.args["port"]), 0)
            return await self._connect({"port": port})
        if call.verb is Verb.LISTEN:
            return self._listen(call.args)
        near, far = socket.socketpair()
        self._tasks.create_task(self._stream(near, call))
        return encode_reply(Reply()), [far.detach()]

    def _keys(self, call: Call) -> tuple[bytes, Sequence[int]]:
        keys = self.keys.get(call.subject)
        if keys is None:
            return encode_reply(Reply(fault=Fault.NOT_FOUND)), []
        file = os.memfd_create("keys")
        os.write(file, keys)
        return encode_reply(Reply()), [file]

    def _listen(self, args: dict[str, Any]) -> tuple[bytes, Sequence[int]]:
        if self.cannot_listen is not None:
            return encode_reply(Reply(fault=self.cannot_listen)), []
        try:
            listening = listen_inside(args)
        except OSError as fault:
            return encode_reply(Reply(fault=Fault.FAILED, detail=str(fault))), []
        descriptors = [os.dup(descriptor) for descriptor in listening.descriptors()]
        listening.handed_over()
        if listening.lifeline is not None:
            self._tasks.create_task(_clean(listening))
        return encode_reply(Reply(listening.result)), descriptors

    async def _connect(self, args: dict[str, Any]) -> tuple[bytes, Sequence[int]]:
        sock = socket.socket(socket.AF_UNIX if "path" in args else socket.AF_INET)
        sock.setblocking(False)
        where = args["path"] if "path" in args else ("127.0.0.1", args["port"])
        try:
            await asyncio.get_running_loop().sock_connect(sock, where)
        except OSError:
            sock.close()
            return encode_reply(Reply(fault=Fault.NOT_LISTENING)), []
        return encode_reply(Reply()), [sock.detach()]

    async def _stream(self, near: socket.socket, call: Call) -> None:
        """One shell or sftp, from its start until it ended or its stream was closed."""
        asked = call.args.get("pty")
        env = {"PATH": os.environ["PATH"], "HOME": str(self._home), "PS1": "$ ", "JOB": call.subject}
        env |= call.args.get("env", {}) | ({"TERM": asked["term"]} if asked else {})
        program = await (_OnPty.start(asked, _argv(call), env) if asked else _Piped.start(_argv(call), env))
        reader, writer = await asyncio.open_connection(sock=near.dup())
        try:
            async with asyncio.TaskGroup() as pumps:
                others = [pumps.create_task(_take(reader, program)), pumps.create_task(_watch(near, program.process))]
                with contextlib.suppress(ConnectionError):
                    await program.print(writer)
                    writer.write(encode_frame(FrameKind.EOF))
                    writer.write(_exit(await program.process.wait()))
                    await writer.drain()
                for task in others:
                    task.cancel()
        finally:
            near.close()
            writer.transport.abort()
            _kill(program.process)
            program.process._transport.close()  # type: ignore[attr-defined]  # else wait() waits for unread output
            await program.process.wait()
            program.close()


async def _clean(listening: Listening) -> None:
    """What the inner half does: when the lifeline ends, the files go."""
    assert listening.lifeline is not None
    listening.lifeline.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_recv(listening.lifeline, 1)
    finally:
        listening.clean()


def _argv(call: Call) -> list[str]:
    if call.verb is Verb.SFTP:
        return [SFTP_SERVER]
    if call.args["command"] is not None:
        return ["/bin/bash", "-c", call.args["command"]]
    return ["/bin/bash", "--norc", *(["-i"] if call.args["pty"] else [])]


class _Piped:
    """A program on three pipes."""

    def __init__(self, process: Process) -> None:
        self.process = process
        assert process.stdin is not None
        self.stdin = process.stdin

    @classmethod
    async def start(cls, argv: list[str], env: dict[str, str]) -> _Piped:
        pipe = subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=env["HOME"], start_new_session=True
            )
        )

    async def print(self, writer: asyncio.StreamWriter) -> None:
        async def pump(kind: FrameKind, source: asyncio.StreamReader | None) -> None:
            while source is not None and (data := await source.read(32768)):
                writer.write(encode_frame(kind, data))
                await writer.drain()

        out, err = pump(FrameKind.DATA, self.process.stdout), pump(FrameKind.ERROR, self.process.stderr)
        for fault in await asyncio.gather(out, err, return_exceptions=True):
            if fault is not None:
                raise fault

    async def take(self, kind: FrameKind, payload: bytes) -> None:
        if kind is FrameKind.DATA:
            self.stdin.write(payload)
            await self.stdin.drain()
        elif kind is FrameKind.EOF:
            self.stdin.close()

    def close(self) -> None:
        self.stdin.close()


class _OnPty:
    """A program on a pseudo-terminal."""

    def __init__(self, process: Process, master: int) -> None:
        self.process, self.master = process, master

    @classmethod
    async def start(cls, asked: dict[str, Any], argv: list[str], env: dict[str, str]) -> _OnPty:
        master, slave = pty.openpty()
        _resize(master, asked["rows"], asked["cols"])
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=env["HOME"],
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        os.set_blocking(master, False)
        return cls(process, master)

    async def print(self, writer: asyncio.StreamWriter) -> None:
        while data := await _read(self.master):
            writer.write(encode_frame(FrameKind.DATA, data))
            await writer.drain()

    async def take(self, kind: FrameKind, payload: bytes) -> None:
        if kind is FrameKind.DATA:
            await _write(self.master, payload)
        elif kind is FrameKind.RESIZE:
            size = json.loads(payload)
            _resize(self.master, size["rows"], size["cols"])

    def close(self) -> None:
        os.close(self.master)


async def _take(reader: asyncio.StreamReader, program: _Piped | _OnPty) -> None:
    """Frames to a program; when it takes no more, the rest is dropped."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            kind, payload = await _frame(reader)
            if kind is FrameKind.SIGNAL:
                _kill(program.process, signal.Signals[f"SIG{json.loads(payload)['name']}"])
                continue
            with contextlib.suppress(ConnectionError):
                await program.take(kind, payload)


async def _watch(near: socket.socket, process: Process) -> None:
    """Kills a program whose stream is closed at the other end, though it does not read its input."""
    poll = select.poll()
    poll.register(near, 0)  # POLLHUP is always told
    while not poll.poll(0):
        await asyncio.sleep(0.05)
    _kill(process)


def _kill(process: Process, number: signal.Signals = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


async def _frame(reader: asyncio.StreamReader) -> tuple[FrameKind, bytes]:
    kind, length = decode_frame_head(await reader.readexactly(FRAME_HEAD_BYTES))
    return kind, await reader.readexactly(length)


async def _read(master: int) -> bytes:
    """What the pty prints next; nothing once its last process is gone (EIO)."""
    while True:
        await _ready(master)
        try:
            return os.read(master, 32768)
        except BlockingIOError:
            continue
        except OSError:
            return b""


async def _write(master: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(master, data) :]
        except BlockingIOError:
            await _ready(master, write=True)


async def _ready(descriptor: int, *, write: bool = False) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    watch, unwatch = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    watch(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        unwatch(descriptor)


def _resize(master: int, rows: int, columns: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))


def _exit(status: int) -> bytes:
    if status < 0:
        return encode_frame_json(FrameKind.EXIT, signal=signal.Signals(-status).name.removeprefix("SIG"))
    return encode_frame_json(FrameKind.EXIT, status=status)
