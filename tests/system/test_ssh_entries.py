"""Port 8022 of the real product with real clients: OpenSSH, scp, sftp, rsync, plink."""

from __future__ import annotations

import hashlib
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import Person, Product


@dataclass(frozen=True, slots=True)
class Door:
    """How to reach 8022 as one person with their own key."""

    product: Product
    person: Person
    key: Path

    def options(self) -> list[str]:
        return [
            *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"),
            *("-o", "IdentitiesOnly=yes", "-i", str(self.key)),
        ]

    def ssh(self, name: str, *command: str, flags: tuple[str, ...] = (), stdin: bytes = b"") -> Any:
        """Runs ssh to `name`@door and returns the finished process with its output."""
        port = str(self.product.ports["SSH"])
        line = ["ssh", "-F", "none", "-p", port, *self.options(), *flags, f"{name}@127.0.0.1", *command]
        return subprocess.run(line, input=stdin, capture_output=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def door(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A person of this file's own, so that the number of their jobs is known, with a key in their profile."""
    person = product.person("carol")
    key = tmp_path_factory.mktemp("ssh") / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    person.call("POST", "/me/keys", {"name": "test", "public_key": public})
    return Door(product, person, key)


@pytest.fixture(scope="module")
def job(door: Door) -> dict[str, Any]:
    """The person's only job at first."""
    return door.person.run(["sleep", "3600"], name="desk")


def test_one_job_is_entered_straight(door: Door, job: dict[str, Any]) -> None:
    """With one job the plain name goes straight in, to the home as sshd does; the exit status comes back."""
    done = door.ssh("carol", "echo $STARLIGHT_JOB_ID; pwd; exit 7")
    home = job["work_dir"].removesuffix(f"/jobs/{job['id']}")
    assert (done.stdout.decode().split(), done.returncode) == ([job["id"], home], 7)


def test_user_plus_job_runs_a_command_with_its_exit_status(door: Door, job: dict[str, Any]) -> None:
    """`ssh user+job 'exit 7'` is 7, by id and by name, and output is never cut."""
    assert door.ssh(f"carol+{job['id']}", "exit 7").returncode == 7
    done = door.ssh("carol+desk", "head -c 3000000 /dev/zero; echo no >&2; exit 9")
    assert (len(done.stdout), done.stderr, done.returncode) == (3_000_000, b"no\n", 9)


def test_every_byte_passes_stdin_and_stdout(door: Door, job: dict[str, Any]) -> None:
    """A shell without a pty is binary-clean both ways and ends at the end of stdin."""
    data = os.urandom(2_000_000)
    done = door.ssh(f"carol+{job['id']}", "cat", stdin=data)
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(data).digest()


def test_passwords_work_both_ways(door: Door, job: dict[str, Any]) -> None:
    """Password and keyboard-interactive, the way that XShell is set up, each work alone; a wrong one is refused."""
    for method in ("password", "keyboard-interactive"):
        done = with_password(door, method, door.person.password)
        assert (done.returncode, done.stdout) == (0, b"in\n"), done.stderr
    assert with_password(door, "keyboard-interactive", "not the password").returncode == 5  # sshpass: wrong password


def test_plink_enters(door: Door, job: dict[str, Any]) -> None:
    """PuTTY's plink signs in with a password and runs a command."""
    port = str(door.product.ports["SSH"])
    line = ["plink", "-batch", "-P", port, "-l", "carol", "-pw", door.person.password, "-hostkey", host_key(door)]
    done = subprocess.run([*line, "127.0.0.1", "echo in"], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b"in\n"), done.stderr


def test_files_go_in_and_come_back(door: Door, job: dict[str, Any], tmp_path: Path) -> None:
    """scp, sftp and rsync copy a file in and back unchanged, and end with status 0."""
    source, back = tmp_path / "数据 1.bin", tmp_path / "back"
    source.write_bytes(os.urandom(1_500_000))
    port = str(door.product.ports["SSH"])
    where = f"carol+{job['id']}@127.0.0.1"
    common = ["-F", "none", *door.options()]
    subprocess.run(["scp", *common, "-P", port, source, f"{where}:by-scp"], check=True, timeout=60)
    subprocess.run(["scp", *common, "-P", port, f"{where}:by-scp", back], check=True, timeout=60)
    assert back.read_bytes() == source.read_bytes()
    batch = f'put "{source}" by-sftp\nget by-sftp "{back}2"\n'.encode()
    subprocess.run(["sftp", *common, "-P", port, "-b", "-", where], input=batch, check=True, timeout=60)
    assert Path(f"{back}2").read_bytes() == source.read_bytes()
    shell = " ".join(["ssh", *common, "-p", port])
    subprocess.run(["rsync", "-e", shell, source, f"{where}:by-rsync"], check=True, timeout=60)
    assert door.ssh(f"carol+{job['id']}", "cmp by-scp by-rsync && cmp by-scp by-sftp").returncode == 0


def test_a_window_change_reaches_the_job(door: Door, job: dict[str, Any]) -> None:
    """`stty size` follows the terminal's size at the start and after a resize."""
    with terminal(door, f"carol+{job['id']}", 33, 101) as window:
        window.send(b"stty size\r")
        window.expect(rb"33 101")
        window.resize(50, 140)
        window.send(b"stty size\r")
        window.expect(rb"50 140")
        window.send(b"exit 4\r")
        assert window.status() == 4


def test_two_jobs_show_the_menu_and_a_program_is_told_the_names(door: Door, job: dict[str, Any]) -> None:
    """With two jobs: a terminal gets the numbered menu; without one, stderr lists the names and stdout stays empty."""
    second = door.person.run(["sleep", "3600"], name="bench")
    with terminal(door, "carol", 24, 100) as window:
        window.expect(second["id"].encode())
        window.send(second["id"].encode() + b"\r")
        window.send(b"echo in=$STARLIGHT_JOB_ID\r")
        window.expect(b"in=" + second["id"].encode())
        window.send(b"exit\r")
        assert window.status() == 0
    told = door.ssh("carol", "true")
    assert (told.returncode, told.stdout) == (1, b"")
    for each in (job, second):
        assert each["id"].encode() in told.stderr


def test_a_web_server_of_the_job_is_reached_by_forwarding(door: Door, job: dict[str, Any]) -> None:
    """`ssh -W` speaks to a port of the job, and a closed one is refused without ending the connection's kind."""
    serve = (
        "python3 -c \"import socket; s=socket.create_server(('127.0.0.1', 5050)); c=s.accept()[0]; c.sendall(b'hi')\""
    )
    with_server = subprocess.Popen(
        [
            "ssh",
            "-F",
            "none",
            "-p",
            str(door.product.ports["SSH"]),
            *door.options(),
            f"carol+{job['id']}@127.0.0.1",
            serve,
        ],
        stdin=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 20
        while (done := door.ssh(f"carol+{job['id']}", flags=("-W", "127.0.0.1:5050"))).returncode:
            assert time.monotonic() < deadline, done.stderr
        assert done.stdout == b"hi"
    finally:
        with_server.wait(timeout=20)


def test_a_random_port_goes_to_its_own_job(door: Door, job: dict[str, Any]) -> None:
    """A random-port ssh entry is entered with the same sign-in and leads to that job, whatever else runs."""
    spec = {"name": "code", "protocol": "ssh", "level": "private", "target_port": 2222, "port": "random"}
    entry = door.person.call("POST", f"/jobs/{job['id']}/entries", spec)
    line = ["ssh", "-F", "none", *door.options(), "-p", str(entry["port"]), "carol@127.0.0.1", "echo $STARLIGHT_JOB_ID"]
    deadline = time.monotonic() + 10
    while (done := subprocess.run(line, capture_output=True, timeout=30, check=False)).returncode:
        assert time.monotonic() < deadline, done.stderr
    assert done.stdout.decode().strip() == job["id"]


def with_password(door: Door, method: str, password: str) -> Any:
    """One ssh run that can only use `method`."""
    port = str(door.product.ports["SSH"])
    options = [o for o in door.options() if o != str(door.key)]
    options = options[: options.index("-i")]
    line = [
        *("sshpass", "-p", password, "ssh", "-F", "none", "-p", port, *options),
        *("-o", f"PreferredAuthentications={method}", "-o", "PubkeyAuthentication=no", "carol@127.0.0.1", "echo in"),
    ]
    return subprocess.run(line, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def host_key(door: Door) -> str:
    """The fingerprint of the door's host key, as plink wants it told."""
    port = str(door.product.ports["SSH"])
    scanned = subprocess.run(["ssh-keyscan", "-t", "ed25519", "-p", port, "127.0.0.1"], capture_output=True, check=True)
    printed = subprocess.run(["ssh-keygen", "-lf", "-"], input=scanned.stdout, capture_output=True, check=True)
    return printed.stdout.decode().split()[1]


class Window:
    """A real terminal with ssh in it."""

    def __init__(self, pid: int, master: int) -> None:
        self.pid, self.master, self.seen = pid, master, b""

    def send(self, data: bytes) -> None:
        os.write(self.master, data)

    def expect(self, pattern: bytes, within_s: float = 20.0) -> None:
        """Reads until `pattern` shows, and forgets what came before it."""
        deadline = time.monotonic() + within_s
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {pattern!r} in {self.seen!r}"
            self.seen += os.read(self.master, 65536)
        self.seen = self.seen[found.end() :]

    def resize(self, rows: int, cols: int) -> None:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def status(self) -> int:
        """ssh's exit status, its last output read away."""
        while True:
            try:
                if not os.read(self.master, 65536):
                    break
            except OSError:
                break
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def terminal(door: Door, name: str, rows: int, cols: int) -> Iterator[Window]:
    """ssh to `name` in a terminal of that size."""
    line = ["ssh", "-F", "none", "-p", str(door.product.ports["SSH"]), *door.options(), f"{name}@127.0.0.1"]
    ready, go = os.pipe()
    pid, master = pty.fork()
    if pid == 0:
        os.read(ready, 1)
        os.execvp("ssh", line)
    window = Window(pid, master)
    window.resize(rows, cols)
    os.write(go, b"x")
    try:
        yield window
    finally:
        for descriptor in (ready, go, master):
            os.close(descriptor)
