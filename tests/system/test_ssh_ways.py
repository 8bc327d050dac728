"""Further ways in and back over 8022 of the real product: homes, keys that lie in them, -R, sockets, the agent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.system.product import Product, eventually
from tests.system.test_ssh_entries import Door

pytestmark = pytest.mark.slow
LISTEN = "import socket; s=socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"


@pytest.fixture(scope="module")
def door(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A person of this file's own with a key in their profile."""
    person = product.person("dora")
    key = new_key(tmp_path_factory.mktemp("ssh") / "id_ed25519")
    person.call("POST", "/me/keys", {"name": "test", "public_key": key.with_suffix(".pub").read_text().strip()})
    return Door(product, person, key)


def new_key(path: Path) -> Path:
    """A fresh key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def job(door: Door) -> dict[str, Any]:
    """The person's only job."""
    return door.person.run(["sleep", "3600"], name="bench")


def copy(door: Door, *words: object) -> None:
    """scp, sftp or rsync with the door's options."""
    subprocess.run([str(word) for word in words], check=True, timeout=60, stdin=subprocess.DEVNULL)


def test_a_home_is_used_before_there_is_any_job(door: Door, tmp_path: Path) -> None:
    """scp, sftp, rsync and a shell, as the person and in a sandbox; what they leave is in the home."""
    source = tmp_path / "数据 1.bin"
    source.write_bytes(os.urandom(300_000))
    port, where = str(door.product.ports["SSH"]), "dora+home@127.0.0.1"
    common = ["-F", "none", *door.options()]
    copy(door, "scp", *common, "-P", port, source, f"{where}:by-scp")
    copy(door, "rsync", "-e", " ".join(["ssh", *common, "-p", port]), source, f"{where}:by-rsync")
    batch = tmp_path / "batch"
    batch.write_text(f'put "{source}" by-sftp\nls\n')
    copy(door, "sftp", *common, "-P", port, "-b", batch, where)
    done = door.ssh("dora%home", "cmp by-scp by-rsync && cmp by-scp by-sftp && whoami && pwd && ls /root; exit 6")
    home = door.product.data / "homes" / "dora"
    assert (done.stdout.decode().split(), done.returncode) == (["dora", str(home)], 6)
    assert (home / "by-scp").read_bytes() == source.read_bytes()
    refused = door.ssh("dora+home", flags=("-W", "127.0.0.1:22"))
    assert refused.returncode != 0


def test_a_key_that_lies_in_the_home_enters_the_job_until_its_line_goes(
    door: Door, job: dict[str, Any], tmp_path: Path
) -> None:
    """What a person writes into ~/.ssh/authorized_keys counts at once, opens no home, and cuts when it is taken out."""
    key = new_key(tmp_path / "from_home")
    public = key.with_suffix(".pub").read_text().strip()
    command = f"mkdir -pm 700 .ssh && echo '{public}' > .ssh/authorized_keys && chmod 600 .ssh/authorized_keys"
    assert door.ssh("dora+home", command).returncode == 0
    by_home = Door(door.product, door.person, key)
    assert by_home.ssh("dora", "echo $STARLIGHT_JOB_ID").stdout.decode().strip() == job["id"]
    assert by_home.ssh("dora+home", "true").returncode == 1
    running = subprocess.Popen(
        [
            *("ssh", "-F", "none", "-p", str(door.product.ports["SSH"]), *by_home.options()),
            *("dora@127.0.0.1", "echo in; sleep 60"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"in\n"
    began = time.monotonic()
    (door.product.data / "homes" / "dora" / ".ssh" / "authorized_keys").write_text("# none\n")
    _, said = running.communicate(timeout=10)
    assert running.returncode == 255
    assert "收回".encode() in said or b"withdrawn" in said
    assert time.monotonic() - began < 3
    assert by_home.ssh("dora", "true").returncode == 255


@contextmanager
def master(door: Door, name: str, tmp_path: Path) -> Iterator[list[str]]:
    """A shared connection to the job; the words of an ssh that uses it."""
    words = ["ssh", "-F", "none", "-S", str(tmp_path / "s"), "-p", str(door.product.ports["SSH"]), *door.options()]
    where = f"{name}@127.0.0.1"
    subprocess.run(
        [*words, "-MNf", where], check=True, timeout=30, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield [*words, where]
    finally:
        subprocess.run([*words, "-O", "exit", where], check=False, timeout=30, capture_output=True)


def test_a_program_beside_the_client_is_reached_from_inside_the_job(
    door: Door, job: dict[str, Any], tmp_path: Path
) -> None:
    """`-R 0` on a shared connection: the port that is told exists in the job's network and nowhere else."""
    serve = f"{LISTEN}; c=s.accept()[0]; c.sendall(b'from outside')"
    with (
        subprocess.Popen(["python3", "-c", serve], stdout=subprocess.PIPE) as beside,
        master(door, f"dora+{job['id']}", tmp_path) as ssh,
    ):
        assert beside.stdout is not None
        local = int(beside.stdout.readline())
        *words, where = ssh
        told = subprocess.run(
            [*words, "-O", "forward", "-R", f"0:127.0.0.1:{local}", where], check=True, timeout=30, capture_output=True
        )
        port = int(told.stdout)
        read = f"import socket; print(socket.create_connection(('localhost', {port})).recv(99).decode())"
        inside = subprocess.run([*ssh, f'python3 -c "{read}"'], check=True, timeout=30, capture_output=True)
        assert inside.stdout == b"from outside\n"
        assert subprocess.run(["python3", "-c", read], check=False, capture_output=True).returncode == 1


def test_a_unix_socket_of_the_job_is_reached(door: Door, job: dict[str, Any], tmp_path: Path) -> None:
    """`ssh -L /path:/path`, as VS Code's newer server has it."""
    path = f"/tmp/code-{os.getpid()}.sock"
    serve = f"import socket; s=socket.socket(1); s.bind('{path}'); s.listen(); c=s.accept()[0]; c.sendall(b'hi')"
    local = tmp_path / "local.sock"
    with master(door, f"dora+{job['id']}", tmp_path) as ssh:
        *words, where = ssh
        with subprocess.Popen([*ssh, f'python3 -c "{serve}"'], stdin=subprocess.DEVNULL):
            subprocess.run([*words, "-O", "forward", "-L", f"{local}:{path}", where], check=True, timeout=30)
            read = f"import socket; s=socket.socket(1); s.connect('{local}'); print(s.recv(9).decode())"

            def said() -> bytes:
                return subprocess.run(["python3", "-c", read], check=False, capture_output=True).stdout.strip()

            assert eventually(said, what="an answer on the socket") == b"hi"


def test_the_agent_is_lent_to_the_job(door: Door, job: dict[str, Any], tmp_path: Path) -> None:
    """`ssh -A`: three programs at once list the key; without it there is none."""
    started = subprocess.run(["ssh-agent", "-s", "-a", str(tmp_path / "agent")], check=True, capture_output=True)
    pid = int(re.findall(rb"SSH_AGENT_PID=(\d+)", started.stdout)[0])
    env = {**os.environ, "SSH_AUTH_SOCK": str(tmp_path / "agent")}
    try:
        subprocess.run(["ssh-add", "-q", str(door.key)], check=True, env=env)
        port = str(door.product.ports["SSH"])
        line = ["ssh", "-F", "none", "-A", "-p", port, *door.options(), f"dora+{job['id']}@127.0.0.1"]
        command = "ssh-add -L & ssh-add -L & ssh-add -L & wait"
        done = subprocess.run([*line, command], env=env, capture_output=True, timeout=30, check=False)
        assert done.stdout.count(b"ssh-ed25519") == 3, done.stderr
        line.remove("-A")
        done = subprocess.run([*line, "echo [$SSH_AUTH_SOCK]"], env=env, capture_output=True, timeout=30, check=False)
        assert done.stdout == b"[]\n"
    finally:
        os.kill(pid, signal.SIGTERM)
