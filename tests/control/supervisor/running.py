"""Starts a supervisor with tiny workers as a program, and speaks to it as clients do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from control.supervisor.passage import ROOT
from gateway.contract.calls import short_path

PORT_NAMES = ("CONSOLE", "HTTP", "HTTPS", "SSH", "TCP")


def free_ports(count: int) -> list[int]:
    """Ports that nobody holds now."""
    socks = [socket.socket() for _ in range(count)]
    try:
        for sock in socks:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in socks]
    finally:
        for sock in socks:
            sock.close()


@dataclass
class Instance:
    """One supervisor process and what it printed so far."""

    process: subprocess.Popen[str]
    data: Path
    ports: dict[str, int]
    lines: list[str] = field(default_factory=list)
    told: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        """Collects the output; runs in a thread of its own."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.told:
                self.lines.append(line)
                self.told.notify_all()

    def wait_for(self, words: str, *, count: int = 1, within_s: float = 20) -> None:
        """Returns once `count` lines held `words`."""
        with self.told:
            found = self.told.wait_for(lambda: sum(words in line for line in self.lines) >= count, within_s)
        assert found, f"no {words!r} in:\n{''.join(self.lines)}"

    def pid(self, name: str) -> int:
        """The pid in that worker's pid file."""
        return int((self.data / "run" / f"{name}.pid").read_text())

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Sends a signal to one process of the instance."""
        os.kill(self.pid(name), number)

    def ask(self) -> list[str]:
        """What a web worker answers a new client: its name, pid and uid."""
        with socket.create_connection(("127.0.0.1", self.ports["HTTP"]), timeout=20) as client:
            return client.makefile().readline().split()

    def ask_control(self) -> list[str]:
        """What control answers a new client."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            with short_path(str(self.data / "run" / "control.sock")) as path:
                client.connect(path)
            return client.makefile().readline().split()


@contextmanager
def instance(
    data: Path, manner: str = "", ports: dict[str, int] | None = None, extra: dict[str, str] | None = None
) -> Iterator[Instance]:
    """A supervisor on `data`, ended with the block."""
    ports = ports or dict(zip(PORT_NAMES, free_ports(len(PORT_NAMES)), strict=True))
    environ = {
        "PATH": os.environ["PATH"],
        "STARLIGHT_DATA_DIR": str(data),
        "STARLIGHT_GATEWAY_PROCESSES": "2",
        **{f"STARLIGHT_{name}_PORT": str(port) for name, port in ports.items()},
        **(extra or {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.control.supervisor.instance", manner],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    started = Instance(process, data, ports)
    reader = threading.Thread(target=started.read)
    reader.start()
    try:
        yield started
    finally:
        process.terminate()
        process.wait(30)
        reader.join(30)
        assert process.stdout is not None
        process.stdout.close()
