"""Starts one program of the job: on given descriptors, or on a terminal of the job's own."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .modes import apply_modes

_MOST_ROWS: Final = 65_535


@dataclass(frozen=True)
class Program:
    """What to run: `file` (searched in the environment's PATH), its arguments from argv[0] on, and where."""

    file: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str


def program_of(request: dict[str, Any]) -> Program:
    """The program that a request describes."""
    argv = tuple(map(str, request["argv"]))
    return Program(str(request.get("file") or argv[0]), argv, dict(request["env"]), str(request["cwd"]))


def run(program: Program, standard: Sequence[int]) -> int:
    """Starts the program with `standard` as its descriptors 0, 1 and 2; its pid.

    It leads a session of its own. Raises OSError when it cannot be started: the directory or the
    program is not there, or may not be used.
    """
    return _fork(program, lambda: _place(standard))


def run_on_terminal(program: Program, rows: int, cols: int, modes: dict[str, Any]) -> tuple[int, int]:
    """Starts the program on a new terminal; its pid and the terminal's master side. Raises OSError as `run` does."""
    master, slave = os.openpty()
    try:
        size = struct.pack("HHHH", min(rows, _MOST_ROWS), min(cols, _MOST_ROWS), 0, 0)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
        apply_modes(slave, modes)
        return _fork(program, lambda: _take_terminal(slave)), master
    except OSError:
        os.close(master)
        raise
    finally:
        os.close(slave)


def _fork(program: Program, settle: Callable[[], None]) -> int:
    told, telling = os.pipe()  # closed by the exec; a number comes through it when there is none
    pid = os.fork()
    if pid == 0:
        _become(program, settle, telling)
    os.close(telling)
    with os.fdopen(told, "rb") as pipe:
        failure = pipe.read()
    if failure:
        os.waitpid(pid, 0)
        number = int(failure)
        raise OSError(number, os.strerror(number))
    return pid


def _become(program: Program, settle: Callable[[], None], telling: int) -> None:
    try:
        os.setsid()
        _default_signals()
        os.umask(0o022)
        settle()
        os.chdir(program.cwd)
        os.execvpe(program.file, program.argv, program.env)  # noqa: S606 - a list of words, no shell
    except OSError as fault:
        os.write(telling, str(fault.errno or 1).encode())
    finally:
        os._exit(127)  # never back into the loop of the parent, whatever was raised


def _default_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _place(standard: Sequence[int]) -> None:
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)


def _take_terminal(slave: int) -> None:
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    _place([slave, slave, slave])
