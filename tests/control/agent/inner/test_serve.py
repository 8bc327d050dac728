"""The inner half as a process of its own, spoken to over its socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from control.agent.inner import serve

AGENT = Path(serve.__file__).parents[1]
PROGRAM = {"env": {"PATH": os.defpath}, "cwd": "/"}


class Talk:
    """The shim's side of the talk."""

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(10)
        command = [sys.executable, "-I", "-S", str(AGENT), "inner", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()

    def say(self, descriptors: list[int] | None = None, **fields: Any) -> None:
        """Sends one message."""
        socket.send_fds(self.sock, [json.dumps(fields).encode()], descriptors or [])

    def hear(self) -> tuple[dict[str, Any], list[int]]:
        """The next message."""
        message, descriptors, _, _ = socket.recv_fds(self.sock, 1 << 17, 4)
        return json.loads(message), list(descriptors)


@pytest.fixture
def talk() -> Iterator[Talk]:
    """A running inner half that said it is ready."""
    talking = Talk()
    assert talking.hear()[0] == {"ready": talking.process.pid}
    yield talking
    talking.sock.close()
    assert talking.process.wait(10) == 0


def test_a_program_runs_on_the_descriptors_given(talk: Talk) -> None:
    """The answer names its pid before its end is told."""
    reading, writing = os.pipe()
    talk.say([0, writing, writing], id=1, do="run", argv=["sh", "-c", "echo hi; exit 3"], **PROGRAM)
    os.close(writing)
    answer, _ = talk.hear()
    assert answer["id"] == 1
    assert talk.hear()[0] == {"exit": answer["pid"], "status": 3 << 8}
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"hi\n"


def test_a_terminals_master_is_handed_over(talk: Talk) -> None:
    """The program's terminal is read at the shim's end."""
    talk.say(id=2, do="terminal", argv=["sh", "-c", "read x; exit 4"], rows=24, cols=80, modes={}, **PROGRAM)
    answer, (master,) = talk.hear()
    os.write(master, b"go\n")
    assert talk.hear()[0] == {"exit": answer["pid"], "status": 4 << 8}
    os.close(master)


def test_a_connection_is_handed_over_or_the_reason(talk: Talk) -> None:
    """Only what connects is a descriptor."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        talk.say(id=3, do="connect", port=listener.getsockname()[1])
        answer, (descriptor,) = talk.hear()
        assert answer == {"id": 3}
        os.close(descriptor)
    talk.say(id=4, do="connect", path="/no/such/socket")
    answer, descriptors = talk.hear()
    assert "No such file" in answer["error"]
    assert descriptors == []


def test_other_machines_are_reached_beside_everything_else(talk: Talk) -> None:
    """While one name is being looked up, the next request is answered; both ends are told by their numbers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        talk.say(id=9, do="reach", host="no-such-name.invalid", port=80)
        talk.say(id=10, do="reach", host="localhost", port=listener.getsockname()[1])
        answers = {}
        while len(answers) < 2:
            answer, descriptors = talk.hear()
            if "id" in answer:
                answers[answer["id"]] = (answer, descriptors)
        assert "no-such-name" in answers[9][0]["error"]
        (descriptor,) = answers[10][1]
        os.close(descriptor)


def test_a_listener_is_handed_over_and_its_file_goes_with_the_lifeline(talk: Talk, tmp_path: Path) -> None:
    """The inner half keeps nothing of it but the lifeline."""
    path = tmp_path / "s"
    talk.say(id=7, do="listen", path=str(path))
    answer, (descriptor, lifeline) = talk.hear()
    assert answer == {"id": 7, "path": str(path), "listeners": 1}
    with socket.socket(fileno=descriptor) as listener, socket.socket(socket.AF_UNIX) as visitor:
        visitor.connect(str(path))
        listener.setblocking(True)
        listener.accept()[0].close()
    os.close(lifeline)
    deadline = time.monotonic() + 5
    while path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    talk.say(id=8, do="listen", port=0)
    answer, descriptors = talk.hear()
    assert len(descriptors) == answer["listeners"]
    for each in descriptors:
        os.close(each)


@pytest.mark.parametrize(
    "request_", [{"do": "run"}, {"do": "run", "argv": ["no-such"], **PROGRAM}, {"do": "connect", "port": "x"}]
)
def test_a_request_that_fails_is_answered(talk: Talk, request_: dict[str, Any]) -> None:
    """No request ends the process that every other one depends on."""
    talk.say(id=5, **request_)
    answer, _ = talk.hear()
    assert answer["id"] == 5
    assert answer["error"]


def test_signals_reach_one_session_or_the_whole_job(talk: Talk) -> None:
    """Two programs: one is signalled by its pid, the other with everything."""
    pids = []
    for number in (6, 7):
        talk.say([0, 1, 2], id=number, do="run", argv=["sleep", "1000"], **PROGRAM)
        pids.append(talk.hear()[0]["pid"])
    talk.say(do="signal", name="TERM", pid=pids[0])
    assert talk.hear()[0] == {"exit": pids[0], "status": signal.SIGTERM}
    talk.say(do="signal", name="KILL")
    assert talk.hear()[0] == {"exit": pids[1], "status": signal.SIGKILL}


def test_when_the_shim_is_gone_so_is_the_job(talk: Talk) -> None:
    """Orphans that left their session are reaped here, and ended with the rest."""
    talk.say([0, 1, 2], id=8, do="run", argv=["sh", "-c", "setsid sleep 1001 & sleep 1001"], **PROGRAM)
    talk.hear()
    talk.sock.close()
    assert talk.process.wait(10) == 0
    assert subprocess.run(["pgrep", "-f", "sleep 1001"], capture_output=True, check=False).stdout == b""
    talk.sock = socket.socket()
