"""Whose listener is it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.agent.shim.owners import descendants, listens_in_job

LISTENER = """
import socket, sys
tcp = socket.create_server(("127.0.0.1", 0))
unix = socket.socket(socket.AF_UNIX)
unix.bind(sys.argv[1])
unix.listen()
print(tcp.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def job(tmp_path: Path) -> Iterator[tuple[int, int, str]]:
    """A process whose child listens: its pid, the child's port and socket path."""
    path = str(tmp_path / "app.sock")
    command = ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", LISTENER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        yield shell.pid, int(shell.stdout.readline()), path
        shell.communicate()


def test_a_childs_listener_is_the_jobs(job: tuple[int, int, str]) -> None:
    """By port and by path."""
    pid, port, path = job
    assert listens_in_job(pid, port=port)
    assert listens_in_job(pid, path=path)


def test_a_strangers_listener_is_not(job: tuple[int, int, str], tmp_path: Path) -> None:
    """The machine's other listeners belong to no job."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not listens_in_job(job[0], port=listener.getsockname()[1])
        assert listens_in_job(os.getpid(), port=listener.getsockname()[1])
    assert not listens_in_job(job[0], port=1)
    assert not listens_in_job(job[0], path=str(tmp_path / "none.sock"))


def test_a_port_that_a_stranger_shares_is_refused(job: tuple[int, int, str]) -> None:
    """With SO_REUSEPORT the kernel might hand the connection to either: both have to be the job's."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as mine:
        port = mine.getsockname()[1]
        listen = f"s = socket.create_server(('127.0.0.1', {port}), reuse_port=True)"
        script = f"import socket, sys; {listen}; print(); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            assert not listens_in_job(other.pid, port=port)
            other.communicate()


def test_descendants_hold_children_of_children(job: tuple[int, int, str]) -> None:
    """Seen from this process, the shell's child is there as well."""
    assert job[0] in descendants(os.getpid())
    assert descendants(job[0]) < descendants(os.getpid())
