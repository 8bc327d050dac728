"""`starlight forward` as a person runs it: the API says where, the gateway lets through, Ctrl-C ends it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

from gateway.contract.people import Session
from gateway.contract.routes import Protocol
from gateway.core.tickets import token_digest
from tests.control.api.desk import Desk
from tests.control.cli.shell import ROOT, Shell
from tests.gateway import world
from tests.gateway.entries.http.test_tunnel import echo, house_of
from tests.gateway.tls_client import server_authority

TCP = {"name": "db", "protocol": "tcp", "level": "private", "target_port": 5432}


def token_of(shell: Shell) -> str:
    """The token that `starlight login` kept."""
    kept: dict[str, Any] = json.loads(next(shell.home.rglob("login.json")).read_text())
    return str(kept["token"])


async def test_a_private_entry_on_a_local_port(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """One line says where; bytes go there and back; Ctrl-C ends it with status 0."""
    job = await desk.running_job(shell.caller, entries=[TCP])
    entry = world.entry(18, protocol=Protocol.TCP, port=8999, host=job["entries"][0]["host"])
    session = Session("s9", 1, token_digest(token_of(shell)), world.NOW + 9)
    (tmp_path / "ca.pem").write_text(server_authority().certificate_pem)
    async with asyncio.timeout(40), house_of(tmp_path, echo, entry, session) as house:
        words = [
            "forward",
            f"{job['id']}/db",
            "0",
            "--via",
            f"127.0.0.1:{house.port}",
            "--ca",
            str(tmp_path / "ca.pem"),
        ]
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "control.cli", *words, "--json",
            cwd=ROOT, env={"HOME": str(shell.home), "LANG": "en_US.UTF-8", "PYTHONUTF8": "1"},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert program.stdout is not None
        said = json.loads(await program.stdout.readline())
        reader, writer = await asyncio.open_connection("127.0.0.1", said["port"])
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        program.send_signal(signal.SIGINT)
        out, err = await program.communicate()
        assert (program.returncode, out, err) == (0, b"", b"")
        writer.transport.abort()


async def test_an_ssh_entry_is_not_forwarded(desk: Desk, shell: Shell) -> None:
    """It says what to type instead."""
    job = await desk.running_job(shell.caller)
    ran = await shell.run("forward", f"{job['id']}/ssh-default", "0")
    assert (ran.status, "ssh -p 8022" in ran.err) == (1, True)


async def test_a_port_that_is_taken_is_told(desk: Desk, shell: Shell) -> None:
    """With the address."""
    job = await desk.running_job(shell.caller, entries=[TCP])
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        ran = await shell.run("forward", f"{job['id']}/db", str(port))
    assert (ran.status, f"Cannot listen on 127.0.0.1:{port}" in ran.err) == (1, True)


async def test_a_certificate_lands_in_a_file_of_ones_own(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """Mode 0600, never over another file: then it is withdrawn again."""
    job = await desk.running_job(shell.caller, entries=[TCP])
    path = tmp_path / "db.pem"
    for status in (0, 1):
        ran = await shell.run("entry", "certificate", f"{job['id']}/db", "--out", str(path))
        assert ran.status == status, ran.err
    assert path.stat().st_mode & 0o777 == 0o600
    assert "PRIVATE KEY" in path.read_text()
    held = await shell.caller.get(f"/entries/{job['entries'][0]['id']}/client-certificates")
    assert held.body["total"] == 1
