"""kill -9 of each of the platform's processes while people are inside: the job lives, the truth is told after."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.system.product import Person, Product, eventually, request

APP = (Path(__file__).with_name("app.py")).read_text()


@pytest.fixture(scope="module")
def job(product: Product) -> dict[str, Any]:
    """A job of a person of this file's own, with an http entry."""
    dave = product.person("dave")
    entries = [
        {"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"},
        {"name": "desk", "protocol": "http", "level": "private", "service": "terminal", "port": "fixed"},
    ]
    job = dave.run(["python3", "-c", APP], name="app", entries=entries)
    eventually(lambda: b"serving" in dave.logs(job["id"]), what="the app serving")
    return job


@pytest.fixture(scope="module")
def key(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ssh") / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    public = path.with_suffix(".pub").read_text().strip()
    product.person("dave").call("POST", "/me/keys", {"name": "crash", "public_key": public})
    return path


class Inside:
    """What a person has open: a tunnel through the web gateway, a web terminal and an ssh session."""

    def __init__(self, product: Product, dave: Person, job: dict[str, Any], key: Path) -> None:
        entry = dave.entry(job, "web")
        port = product.ports["HTTP"]
        self.tunnel = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.tunnel.sendall(
            f"GET /tunnel HTTP/1.1\r\nHost: {entry['host']}:{port}\r\nX-Starlight-Token: {dave.token}\r\n"
            "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.tunnel.recv(65536) or pytest.fail(f"no tunnel: {head!r}")
        desk = f"{dave.entry(job, 'desk')['host']}:{port}"
        self._opened = ExitStack()
        self.terminal = self._opened.enter_context(
            connect(
                f"ws://{desk}/.starlight/terminal",
                sock=socket.create_connection(("127.0.0.1", port), timeout=10),
                additional_headers={"X-Starlight-Token": dave.token},
            )
        )
        self.terminal.send(json.dumps({"rows": 24, "cols": 80}))
        assert self.terminal_echoes()
        self.ssh = subprocess.Popen(
            [*ssh_line(product, key), f"dave+{job['id']}@127.0.0.1", "cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.ssh_echoes()

    def tunnel_echoes(self) -> bool:
        try:
            self.tunnel.sendall(b"ping")
            return self.tunnel.recv(4) == b"ping"
        except OSError:
            return False

    def terminal_echoes(self) -> bool:
        """Whether the shell in the terminal still answers: 42 is in no line that was typed."""
        try:
            self.terminal.send(b"echo $((6 * 7))\r")
            seen = b""
            while b"42" not in seen:
                said = self.terminal.recv(timeout=10)
                seen += said if isinstance(said, bytes) else b""
        except (ConnectionClosed, OSError, TimeoutError):
            return False
        return True

    def ssh_echoes(self) -> bool:
        assert self.ssh.stdin is not None and self.ssh.stdout is not None
        try:
            self.ssh.stdin.write(b"pong\n")
            self.ssh.stdin.flush()
        except OSError:
            return False
        return self.ssh.stdout.readline() == b"pong\n"

    def leave(self) -> None:
        self.tunnel.close()
        self._opened.close()
        self.ssh.kill()
        self.ssh.communicate()


@contextmanager
def inside(product: Product, job: dict[str, Any], key: Path) -> Iterator[Inside]:
    opened = Inside(product, product.person("dave"), job, key)
    try:
        yield opened
    finally:
        opened.leave()


class Visitors:
    """New visitors that keep coming: each must be answered, none refused, none left hanging."""

    def __init__(self, product: Product, job: dict[str, Any], key: Path, *, console: bool) -> None:
        self.product, self.console, self.key, self.job = product, console, key, job
        self.entry = product.person("dave").entry(job, "web")
        self.faults: list[str] = []
        self.visits = 0
        self._leave = threading.Event()
        self._threads = [threading.Thread(target=self._http), threading.Thread(target=self._ssh)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._leave.set()
        for thread in self._threads:
            thread.join(timeout=60)

    def _http(self) -> None:
        port, token = self.product.ports["HTTP"], self.product.person("dave").token
        while not self._leave.wait(0.05):
            try:
                host = f"{self.entry['host']}:{port}"
                answer = request(port, "GET", "/", host=host, headers={"X-Starlight-Token": token}, timeout_s=15)
                if answer.status != 200:
                    self.faults.append(f"entry: {answer.status} {answer.headers.get('X-Starlight-Reason')}")
                if self.console and request(self.product.ports["CONSOLE"], "GET", "/", timeout_s=15).status != 200:
                    self.faults.append("console: not 200")
            except OSError as fault:
                # A connection that the killed process itself had accepted may end; one that nobody took may not.
                if not isinstance(fault, ConnectionResetError):
                    self.faults.append(f"http: {fault!r}")
            self.visits += 1

    def _ssh(self) -> None:
        while not self._leave.wait(0.05):
            with socket.create_connection(("127.0.0.1", self.product.ports["SSH"]), timeout=15) as sock:
                try:
                    if not sock.recv(8):
                        continue
                except ConnectionResetError:
                    continue
                except OSError as fault:
                    self.faults.append(f"ssh: {fault!r}")


@pytest.mark.parametrize("role", ["control", "bridge", "web", "ssh"])
def test_a_killed_process_takes_only_its_own_streams(
    product: Product, job: dict[str, Any], key: Path, role: str
) -> None:
    """Only streams through a killed gateway end; new visitors are all served; the job's state is true after it."""
    dave = product.person("dave")
    with inside(product, job, key) as opened:
        with Visitors(product, job, key, console=role != "control") as visitors:
            for name in product.names(role):
                seen = visitors.visits
                eventually(lambda seen=seen: visitors.visits > seen + 3, what="visitors coming")
                old = product.kill(name)
                eventually(lambda name=name, old=old: product.pid(name) not in (0, old), what=f"{name} started again")
                eventually(product.healthy, what="healthy again")
            seen = visitors.visits
            eventually(lambda: visitors.visits > seen + 3, what="visitors served after it")
        assert visitors.faults == []
        assert opened.tunnel_echoes() == (role != "web")
        assert opened.terminal_echoes() == (role != "web")
        assert opened.ssh_echoes() == (role != "ssh")
    assert dave.call("GET", f"/jobs/{job['id']}")["state"] == "running"


@pytest.mark.parametrize("away_s", [5, pytest.param(60, marks=pytest.mark.slow)])
def test_a_stopped_control_holds_nobody_up(product: Product, job: dict[str, Any], key: Path, away_s: int) -> None:
    """With control stopped by SIGSTOP, what is open goes on, and a token and a key still admit new visits."""
    dave = product.person("dave")
    with inside(product, job, key) as opened:
        visitors = Visitors(product, job, key, console=False)
        os.kill(product.pid("control"), signal.SIGSTOP)
        try:
            with visitors:
                time.sleep(away_s)  # how long control is away, not a wait for luck
            assert visitors.visits > away_s
            assert visitors.faults == []
            assert opened.tunnel_echoes() and opened.terminal_echoes() and opened.ssh_echoes()
            done = subprocess.run(
                [*ssh_line(product, key), f"dave+{job['id']}@127.0.0.1", "exit 5"], timeout=30, check=False
            )
            assert done.returncode == 5
        finally:
            os.kill(product.pid("control"), signal.SIGCONT)
    eventually(product.healthy, what="healthy again")
    assert dave.call("GET", f"/jobs/{job['id']}")["state"] == "running"


def test_a_job_that_ends_while_control_is_away_is_told_truly(product: Product) -> None:
    """A job that exits 3 while control is dead is `failed` with exit code 3 after the restart."""
    dave = product.person("dave")
    job = dave.run(["sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 3"], name="brief")
    os.kill(product.pid("control"), signal.SIGSTOP)
    try:
        go = Path(job["work_dir"]) / "go"
        go.touch()
        time.sleep(0.5)
    finally:
        product.kill("control")
    ended = dave.wait(job["id"], "failed") if eventually(product.healthy, what="healthy again") else {}
    assert ended["exit_code"] == 3


def test_a_killed_supervisor_leaves_the_job_and_starts_again(product: Product, job: dict[str, Any]) -> None:
    """The supervisor dies by -9: workers end within 5 s, the job lives on, and the next start takes over."""
    dave = product.person("dave")
    workers = [product.pid(name) for name in product.names()]
    product.kill("supervisor")
    assert product.process is not None
    product.process.wait(timeout=10)
    eventually(lambda: not any(map(alive, workers)), within_s=6, what="the workers ended")
    product.start(within_s=30)
    assert dave.call("GET", f"/jobs/{job['id']}")["state"] == "running"
    assert reaches(product, dave, job)


def test_everything_killed_at_once_loses_no_job(product: Product, job: dict[str, Any]) -> None:
    """All processes of the platform die by -9 together; the next start finds the job running and serves it."""
    dave = product.person("dave")
    for name in ("supervisor", *product.names()):
        product.kill(name)
    assert product.process is not None
    product.process.wait(timeout=10)
    product.start(within_s=30)
    assert dave.call("GET", f"/jobs/{job['id']}")["state"] == "running"
    assert reaches(product, dave, job)


def reaches(product: Product, dave: Person, job: dict[str, Any]) -> bool:
    entry, port = dave.entry(job, "web"), product.ports["HTTP"]
    headers = {"X-Starlight-Token": dave.token}
    return eventually(
        lambda: request(port, "GET", "/", host=f"{entry['host']}:{port}", headers=headers).status == 200,
        within_s=10,
        what="the entry serves again",
    )


def ssh_line(product: Product, key: Path) -> list[str]:
    return [
        *("ssh", "-F", "none", "-p", str(product.ports["SSH"]), "-i", str(key), "-o", "IdentitiesOnly=yes"),
        *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"),
    ]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
