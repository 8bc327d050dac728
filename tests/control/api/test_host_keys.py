"""The ssh gateway's keys over the API."""

from __future__ import annotations

import subprocess
from pathlib import Path

import asyncssh

from control.store import secrets
from control.store.secrets import HOST
from control.work.host_keys import HostCertificates
from tests.control.api.desk import Desk


async def test_keys_authority_and_lines_are_public(both_desks: Desk, tmp_path: Path) -> None:
    """Nobody need sign in; ssh-keygen reads the lines, and its own DNS record is the one that is shown."""
    ctx = both_desks.ctx
    key = asyncssh.generate_private_key("ssh-ed25519")
    async with ctx.db.write() as session:
        await secrets.add_secret(session, ctx.vault, HOST, key.export_private_key().decode(), ctx.now())
    await HostCertificates(ctx.db, ctx.vault, tmp_path, ctx.now).look()
    shown = (await both_desks.anyone.get("/ssh-host-keys")).body
    assert [one["fingerprint"] for one in shown["keys"]] == [key.get_fingerprint()]
    assert shown["authority"]["fingerprint"] != key.get_fingerprint()
    file = tmp_path / "known_hosts"
    file.write_text("".join(f"{line}\n" for line in shown["known_hosts"]))
    found = keygen("-F", shown["place"], "-f", str(file))
    assert shown["keys"][0]["public_key"] in found
    assert "CA" in found
    public = tmp_path / "key.pub"
    public.write_text(shown["keys"][0]["public_key"] + "\n")
    record = keygen("-r", "gate", "-f", str(public))
    assert f"gate IN SSHFP {shown['keys'][0]['sshfp']}" in record.splitlines()


def keygen(*words: str) -> str:
    """What ssh-keygen says."""
    return subprocess.run(["ssh-keygen", *words], check=True, capture_output=True, text=True).stdout
