"""One session in the job: a shell, a command or an sftp server joined to a visitor's stream of frames.

Everything the program said arrives before EOF, and EOF before EXIT. A visitor who leaves hangs up:
the session's processes get SIGHUP, as when a line drops. Neither side can fill the other's memory:
a byte is taken only when the one before found its place.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import select
import socket
import struct
import termios
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from .frames import DATA, EOF, ERROR, EXIT, RESIZE, SIGNAL, Frames
from .inside import Inside
from .outcome import signal_name
from .waiting import readable, write_all

START_S: Final = 20.0
_CHUNK: Final = 64 * 1024
_LINGER_S: Final = 5.0
_LAST_WORDS_S: Final = 0.2
"""How long a terminal is listened to after its program ended: the kernel hands its output over a moment later."""
_SIGNALS: Final = frozenset(
    {"ABRT", "ALRM", "CONT", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "STOP", "TERM", "TSTP"}
    | {"USR1", "USR2", "WINCH"}
)


@dataclass
class Program:
    """A started program: its pid inside, where its input goes and its outputs come from (non-blocking, ours to close).

    On a terminal `stdin` and `stdout` are the same master side and there is no `stderr`.
    """

    pid: int
    stdin: int
    stdout: int
    stderr: int | None


async def start_on_pipes(inside: Inside, **program: Any) -> Program:
    """Starts a program with its input and both outputs apart. Raises OSError when it cannot be started."""
    ends = [os.pipe(), os.pipe(), os.pipe()]
    (their_in, our_in), (our_out, their_out), (our_err, their_err) = ends
    try:
        pid = await inside.program([their_in, their_out, their_err], START_S, **program)
    except BaseException:
        _close(our_in, our_out, our_err)
        raise
    finally:
        _close(their_in, their_out, their_err)
    for descriptor in (our_in, our_out, our_err):
        os.set_blocking(descriptor, False)
    return Program(pid, our_in, our_out, our_err)


async def start_on_terminal(inside: Inside, **program: Any) -> Program:
    """Starts a program on a terminal of the job's own. Raises OSError when it cannot be started."""
    pid, master = await inside.terminal(START_S, **program)
    os.set_blocking(master, False)
    return Program(pid, master, master, None)


class Session:
    """Serves one visitor until the program has ended or the visitor has left."""

    def __init__(self, inside: Inside, program: Program, stream: socket.socket) -> None:
        self._inside = inside
        self._program = program
        self._stream = stream
        self._frames = Frames(stream)
        self._stdin_open = True
        self._ended = False

    async def serve(self) -> None:
        """Joins program and visitor; when it returns, everything it held is closed."""
        program = self._program
        try:
            await self._join()
        finally:
            _close(*{program.stdout, *([program.stdin] if self._stdin_open else []), *filter(None, [program.stderr])})
            self._stream.close()
            self._inside.forget(program.pid)
            if not self._ended:
                await self._inside.signal("HUP", program.pid)

    async def _join(self) -> None:
        async with asyncio.TaskGroup() as group:
            answering, hearing, leaving = (
                group.create_task(part) for part in (self._answer(), self._hear(), self._notice_leaving())
            )
            await asyncio.wait([answering, hearing, leaving], return_when=asyncio.FIRST_COMPLETED)
            if answering.done() and not leaving.done():
                # A close with unread input would reach the visitor as a broken connection, behind the last frame.
                self._stream.shutdown(socket.SHUT_WR)
                await asyncio.wait([hearing, leaving], timeout=_LINGER_S, return_when=asyncio.FIRST_COMPLETED)
            for task in (answering, hearing, leaving):
                task.cancel()

    async def _answer(self) -> None:
        """From the program to the visitor, to the last frame."""
        program = self._program
        with suppress(OSError):  # the visitor is gone
            if program.stderr is None:
                status = await self._copy_terminal()
                await self._frames.write(EOF)
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._copy(program.stdout, DATA))
                    group.create_task(self._copy(program.stderr, ERROR))
                await self._frames.write(EOF)
                status = await self._inside.ended(program.pid)
            self._ended = True
            await self._frames.write_json(EXIT, exit_fields(status))

    async def _copy(self, source: int, kind: int) -> None:
        while True:
            await readable(source)
            try:
                chunk = os.read(source, _CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                return  # EIO: the terminal's last user closed it
            if not chunk:
                return
            try:
                await self._frames.write(kind, chunk)
            except OSError:
                return  # the visitor is gone, which `_notice_leaving` sees as well

    async def _copy_terminal(self) -> int:
        """A background process may hold the terminal for ever; the session ends with its own program."""
        async with asyncio.TaskGroup() as group:
            copying = group.create_task(self._copy(self._program.stdout, DATA))
            status = await self._inside.ended(self._program.pid)
            await self._drain_terminal(copying)
            copying.cancel()
        return status

    async def _drain_terminal(self, copying: asyncio.Task[None]) -> None:
        while not copying.done():
            done, _ = await asyncio.wait([copying], timeout=_LAST_WORDS_S)
            if not done and not select.select([self._program.stdout], [], [], 0)[0]:
                return

    async def _hear(self) -> None:
        """From the visitor to the program, until the visitor leaves or sends what is no frame."""
        with suppress(ValueError, LookupError, TypeError, AttributeError, OSError, termios.error):
            while (frame := await self._frames.read()) is not None:
                await self._obey(*frame)

    async def _obey(self, kind: int, payload: bytes) -> None:
        if kind == DATA and self._stdin_open:
            await self._feed(payload)
        elif kind == EOF:
            await self._end_input()
        elif kind == RESIZE and self._program.stderr is None:
            size = json.loads(payload)
            rows, cols = (max(1, min(int(size[name]), 65_535)) for name in ("rows", "cols"))
            fcntl.ioctl(self._program.stdin, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        elif kind == SIGNAL:
            name = str(json.loads(payload).get("name", ""))
            if name in _SIGNALS:
                await self._inside.signal(name, self._program.pid)

    async def _feed(self, payload: bytes) -> None:
        try:
            await write_all(self._program.stdin, payload)
        except OSError:
            self._close_input()  # the program closed its input; it may well go on speaking

    async def _end_input(self) -> None:
        if not self._stdin_open:
            return
        if self._program.stderr is not None:
            self._close_input()
            return
        attributes = termios.tcgetattr(self._program.stdin)
        if attributes[3] & termios.ICANON:  # a terminal has no half-close; in line mode its own end character says it
            await self._feed(attributes[6][termios.VEOF])

    def _close_input(self) -> None:
        if self._program.stderr is not None and self._stdin_open:
            os.close(self._program.stdin)
            self._stdin_open = False

    async def _notice_leaving(self) -> None:
        """Returns when the visitor's end is closed, even while nothing is read because the program reads nothing."""
        with select.epoll() as leaving:
            leaving.register(self._stream.fileno(), 0)  # hang-ups are always told
            await readable(leaving.fileno())


def exit_fields(wait_status: int) -> dict[str, Any]:
    """How a program ended, as an EXIT frame says it."""
    if os.WIFSIGNALED(wait_status):
        return {"signal": signal_name(os.WTERMSIG(wait_status))}
    return {"status": os.WEXITSTATUS(wait_status)}


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
