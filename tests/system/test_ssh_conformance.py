"""The conformance script against plain sshd, which proves the script, and against 8022 of the real product."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.system.product import Product
from tests.system.ssh_conformance.__main__ import ALL
from tests.system.ssh_conformance.cases import Case
from tests.system.ssh_conformance.target import Target

pytestmark = pytest.mark.slow
CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/keys
PidFile none
UsePAM no
StrictModes no
AcceptEnv LANG LC_* GIT_PROTOCOL
X11Forwarding yes
MaxStartups 100
MaxSessions 20
Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes256-ctr
Subsystem sftp internal-sftp
"""


def new_key(path: Path) -> Path:
    """A fresh key pair."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """OpenSSH's server, for whoever runs the tests."""
    place = tmp_path_factory.mktemp("sshd")
    key = new_key(place / "key")
    new_key(place / "host")
    (place / "keys").write_bytes(key.with_suffix(".pub").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (place / "config").write_text(CONFIG.format(port=port, place=place))
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", str(place / "config")], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    yield Target("127.0.0.1", port, os.environ.get("USER", "root"), key, tmp_path_factory.mktemp("scratch"))
    server.terminate()
    server.wait(10)


@pytest.fixture(scope="module")
def gateway(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Target:
    """The gateway, with a job of a person of this file's own."""
    person = product.person("judy")
    key = new_key(tmp_path_factory.mktemp("judy") / "key")
    person.call("POST", "/me/keys", {"name": "test", "public_key": key.with_suffix(".pub").read_text().strip()})
    job = person.run(["sleep", "3600"])
    return Target("127.0.0.1", product.ports["SSH"], f"judy+{job['id']}", key, tmp_path_factory.mktemp("scratch"))


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_plain_sshd_passes(sshd: Target, case: Case) -> None:
    """A case that sshd fails would be the script's fault."""
    case.judge(sshd)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_the_gateway_passes(gateway: Target, case: Case) -> None:
    """Nothing that plain sshd does right is wrong here."""
    case.judge(gateway)
