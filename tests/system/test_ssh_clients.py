"""Other people's clients at 8022 of the real product: paramiko, libssh2, PuTTY's psftp."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.system.product import ROOT, Person, Product
from tests.system.test_ssh_entries import Door, host_key
from tests.system.test_ssh_ways import new_key

pytestmark = pytest.mark.slow
PYTHON = ROOT / ".build" / "judges" / "bin" / "python"


@pytest.fixture(scope="module")
def door(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A person of this file's own with a key and one job."""
    person: Person = product.person("kate")
    key = new_key(tmp_path_factory.mktemp("kate") / "key")
    person.call("POST", "/me/keys", {"name": "test", "public_key": key.with_suffix(".pub").read_text().strip()})
    person.run(["sleep", "3600"])
    return Door(product, person, key)


@pytest.mark.parametrize("program", ["with_paramiko.py", "with_libssh2.py"])
def test_libraries_find_everything_as_at_sshd(door: Door, program: str) -> None:
    """Sign-in by key and password, commands, files, terminals, forwards: the program says what is not right."""
    script = Path(__file__).parent / "ssh_clients" / program
    port = str(door.product.ports["SSH"])
    words = [str(PYTHON), str(script), port, "kate", str(door.key), door.person.password]
    done = subprocess.run(words, capture_output=True, timeout=110, check=False, text=True)
    assert done.returncode == 0, done.stderr


def test_psftp_puts_and_gets(door: Door, tmp_path: Path) -> None:
    """PuTTY's file client, by password."""
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(os.urandom(1_000_000))
    batch = tmp_path / "batch"
    batch.write_text(f"put {source} by-psftp\nget by-psftp {back}\nls\nquit\n")
    port = str(door.product.ports["SSH"])
    words = ["psftp", "-batch", "-P", port, "-l", "kate", "-pw", door.person.password]
    words += ["-hostkey", host_key(door), "-b", str(batch), "127.0.0.1"]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert back.read_bytes() == source.read_bytes()
