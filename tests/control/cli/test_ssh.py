"""`starlight ssh-config`."""

from __future__ import annotations

from pathlib import Path

import asyncssh

from control.store import secrets
from control.store.secrets import HOST
from control.work.host_keys import HostCertificates
from tests.control.api.desk import Desk
from tests.control.cli.shell import Shell


async def test_ssh_config_has_a_stanza_for_each_reachable_job(desk: Desk, shell: Shell) -> None:
    """Ready to be appended to ~/.ssh/config; a job without an active fixed ssh entry has none."""
    job = (await desk.running_job(shell.caller))["id"]
    await desk.running_job(shell.caller, ssh_default=False)
    printed = await shell.run("ssh-config")
    assert printed.out == f"Host {job}\n    HostName 127.0.0.1\n    Port 8022\n    User alice+{job}\n"


async def test_known_hosts_names_the_gateway_and_the_jobs_behind_it(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """The key by itself, and the authority for the gateway and each reachable job."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    async with desk.ctx.db.write() as session:
        await secrets.add_secret(session, desk.ctx.vault, HOST, key.export_private_key().decode(), desk.ctx.now())
    await HostCertificates(desk.ctx.db, desk.ctx.vault, tmp_path, desk.ctx.now).look()
    job = (await desk.running_job(shell.caller))["id"]
    plain, authority = (await shell.run("ssh-config", "--known-hosts")).out.splitlines()
    assert plain == "[127.0.0.1]:8022 " + " ".join(key.export_public_key().decode().split()[:2])
    assert authority.startswith(f"@cert-authority [127.0.0.1]:8022,{job} ssh-ed25519 ")
    assert (await shell.run("ssh-config", "--known-hosts", "--json")).json == [plain, authority]
