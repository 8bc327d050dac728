"""Programs of a job are started clean, or not at all and with the reason."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from control.agent.inner.spawn import Program, program_of, run, run_on_terminal

ENV = {"PATH": os.defpath, "WORD": "hello"}


def shell(script: str, cwd: str = "/") -> Program:
    """A program that runs a shell script."""
    return Program("sh", ("sh", "-c", script), ENV, cwd)


def output_of(program: Program) -> tuple[bytes, int]:
    """What the program prints, and its wait status."""
    reading, writing = os.pipe()
    silence = os.open(os.devnull, os.O_RDONLY)
    pid = run(program, [silence, writing, writing])
    os.close(writing)
    os.close(silence)
    with os.fdopen(reading, "rb") as pipe:
        output = pipe.read()
    return output, os.waitpid(pid, 0)[1]


def test_it_gets_its_environment_directory_and_nothing_else(tmp_path: Path) -> None:
    """The environment is the one asked for; no descriptor beyond the three is inherited."""
    leaked = os.open("/", os.O_RDONLY)
    script = f"echo $WORD; pwd; test -e /proc/$$/fd/{leaked} || echo closed"
    output, status = output_of(shell(script, str(tmp_path)))
    os.close(leaked)
    assert output.split() == [b"hello", os.fsencode(tmp_path), b"closed"]
    assert status == 0


def test_it_leads_a_session_and_ignores_no_signal() -> None:
    """Python itself ignores SIGPIPE; a shell that inherited that could never end a pipeline."""
    output, _ = output_of(shell("ps -o pid=,sid= -p $$; grep SigIgn /proc/self/status"))
    pid, session, _, ignored = output.split()
    assert pid == session
    assert int(ignored, 16) & (1 << (signal.SIGPIPE - 1)) == 0


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (Program("no-such", ("no-such",), ENV, "/"), "No such file"),
        (Program("/", ("/",), ENV, "/"), "Permission denied"),
        (shell("true", "/no/such/directory"), "No such file"),
    ],
)
def test_what_cannot_be_started_says_why(program: Program, words: str) -> None:
    """No child is left behind, and the reason is the kernel's."""
    with pytest.raises(OSError, match=words):
        run(program, [0, 1, 2])
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_terminal_has_the_size_asked_for() -> None:
    """The program's terminal is its controlling one."""
    pid, master = run_on_terminal(shell("stty size; tty"), 33, 99, {})
    assert os.waitpid(pid, 0)[1] == 0
    lines = os.read(master, 1000).split()
    os.close(master)
    assert lines[:2] == [b"33", b"99"]
    assert lines[2].startswith(b"/dev/pts/")


def test_a_terminal_that_cannot_be_used_is_closed() -> None:
    """No descriptor is lost when the program is not there."""
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="No such file"):
        run_on_terminal(Program("no-such", ("no-such",), ENV, "/"), 24, 80, {})
    assert set(os.listdir("/proc/self/fd")) == before


def test_the_program_defaults_to_the_first_word() -> None:
    """A login shell is named apart from what is run."""
    asked = {"argv": ["-bash"], "env": {}, "cwd": "/"}
    assert program_of(asked).file == "-bash"
    assert program_of(asked | {"file": "/bin/bash"}).file == "/bin/bash"
