"""The whole product as a person starts it, on a data directory and ports of its own, and a plain client of its API.

Nothing here is a double: `starlight up` runs as a program, and every call is a real request on a real socket.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
STARLIGHT = Path(sys.executable).with_name("starlight")
ADMIN_PASSWORD = "correct horse battery"
PORT_NAMES = ("CONSOLE", "HTTP", "HTTPS", "SSH", "TCP")


def free_ports(count: int) -> list[int]:
    """Ports below the random range that nobody listens on now."""
    found: list[int] = []
    candidate = 20000 + (os.getpid() * 37) % 8000
    while len(found) < count:
        candidate = 20000 + (candidate - 20000 + 1) % 12000
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", candidate)) == 0:
                continue
            try:
                sock.bind(("127.0.0.1", candidate))
            except OSError:
                continue
        found.append(candidate)
    return found


T = TypeVar("T")


def eventually(probe: Callable[[], T | None], *, within_s: float = 30.0, what: str) -> T:
    """The first truthy answer of `probe`, asked every 50 ms. Fails the test with `what` and the last answer."""
    deadline = time.monotonic() + within_s
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {within_s:.0f} s; last answer: {answer!r}")
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read whole."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(
    port: int,
    method: str,
    path: str,
    *,
    host: str | None = None,
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float = 30.0,
) -> Answer:
    """One request to the product on loopback, with the Host that a browser would send."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request(method, path, body=body, headers={"Host": host or f"127.0.0.1:{port}", **(headers or {})})
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()


@dataclass(slots=True)
class Person:
    """A signed-in user with their API token."""

    product: Product
    name: str
    password: str
    token: str

    def call(self, method: str, path: str, payload: Any = None, *, expect: int | None = None) -> Any:
        """Calls the API; the decoded answer. `expect` names the status that must come, else any 2xx."""
        answer = request(
            self.product.ports["CONSOLE"],
            method,
            f"/api/v1{path}",
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            body=None if payload is None else json.dumps(payload).encode(),
        )
        good = answer.status == expect if expect else 200 <= answer.status < 300
        assert good, f"{method} {path} -> {answer.status} {answer.body.decode(errors='replace')}"
        return answer.json if answer.body and "json" in answer.headers.get("Content-Type", "") else answer.body

    def submit(self, command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
        """Submits a job and returns it as accepted."""
        job: dict[str, Any] = self.call("POST", "/jobs", {**({"command": command} if command else {}), **spec})
        return job

    def wait(self, job_id: str, *states: str, within_s: float = 60.0) -> dict[str, Any]:
        """The job once it is in one of `states`."""

        def probe() -> dict[str, Any] | None:
            job: dict[str, Any] = self.call("GET", f"/jobs/{job_id}")
            return job if job["state"] in states else None

        return eventually(probe, within_s=within_s, what=f"{job_id} in {' or '.join(states)}")

    def run(self, command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
        """A job that is running, with all its entries active."""
        job = self.wait(self.submit(command, **spec)["id"], "running")

        def active() -> dict[str, Any] | None:
            now: dict[str, Any] = self.call("GET", f"/jobs/{job['id']}")
            return now if all(entry["active"] for entry in now["entries"]) else None

        return eventually(active, what=f"entries of {job['id']} active")

    def entry(self, job: dict[str, Any], name: str) -> dict[str, Any]:
        """The job's entry of that name, as it is now."""
        now = self.call("GET", f"/jobs/{job['id']}")
        found: dict[str, Any] = next(entry for entry in now["entries"] if entry["name"] == name)
        return found

    def logs(self, job_id: str) -> bytes:
        """All output of the job so far."""
        body: bytes = self.call("GET", f"/jobs/{job_id}/logs?{urlencode({'from': 0, 'limit': 1 << 20})}")
        return body


@dataclass(slots=True)
class Product:
    """A running instance. `people` remembers who has been made."""

    data: Path
    extra: dict[str, str] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    people: dict[str, Person] = field(default_factory=dict)

    def start(self, *, within_s: float = 90.0) -> None:
        """Starts `starlight up` and returns once a job can be submitted."""
        self.ports = self.ports or dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
        self.data.mkdir(parents=True, exist_ok=True)
        log = (self.data.parent / f"{self.data.name}.log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [STARLIGHT, "up"], cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        eventually(self.healthy, within_s=within_s, what=f"healthz 200 (log: {log.name})")

    @property
    def environment(self) -> dict[str, str]:
        ports = {f"STARLIGHT_{name}_PORT": str(port) for name, port in self.ports.items()}
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": os.environ.get("HOME", "/"),
            "STARLIGHT_DATA_DIR": str(self.data),
            "STARLIGHT_ADMIN_PASSWORD": ADMIN_PASSWORD,
            **ports,
            **self.extra,
        }

    def healthy(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"starlight up ended with {self.process.returncode}"
        try:
            return request(self.ports["CONSOLE"], "GET", "/healthz", timeout_s=5).status == 200
        except (OSError, http.client.HTTPException):
            return False

    def stop(self, *, jobs: bool = True) -> None:
        """Stops the platform as a person would; with `jobs`, ends the jobs too."""
        subprocess.run(
            [STARLIGHT, "down", *(["--jobs"] if jobs else [])], cwd=ROOT, env=self.environment, check=False, timeout=60
        )
        if self.process is not None:
            self.process.wait(timeout=30)
            self.process = None

    def pid(self, name: str) -> int:
        """The process id of one of the platform's processes; 0 while it is away."""
        try:
            return int((self.data / "run" / f"{name}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def names(self, role: str = "") -> list[str]:
        """The platform's processes but the supervisor; of one role (`web`, `ssh`, ...) when it is given."""
        found = sorted(path.stem for path in (self.data / "run").glob(f"{role}*.pid"))
        return [name for name in found if name != "supervisor"]

    def kill(self, name: str) -> int:
        """kill -9 of one process; returns the pid it had."""
        pid = self.pid(name)
        assert pid > 0, f"{name} does not run"  # 0 would be this process and all of its group
        os.kill(pid, signal.SIGKILL)
        return pid

    def admin(self) -> Person:
        return self.sign_in("admin", ADMIN_PASSWORD)

    def person(self, name: str) -> Person:
        """The user of that name, made on first asking."""
        if name not in self.people:
            password = f"password of {name}"
            self.admin().call("POST", "/users", {"username": name, "password": password, "role": "user"})
            self.people[name] = self.sign_in(name, password)
        return self.people[name]

    def sign_in(self, name: str, password: str) -> Person:
        answer = request(
            self.ports["CONSOLE"],
            "POST",
            "/api/v1/sessions",
            headers={"Content-Type": "application/json"},
            body=json.dumps({"username": name, "password": password}).encode(),
        )
        assert answer.status == 201, answer.body
        return Person(self, name, password, answer.json["token"])
