"""`starlight entry ...`, `redeem` and `ssh-config`."""

from __future__ import annotations

from pathlib import Path

from tests.control.api.desk import Desk
from tests.control.cli.shell import Shell, signed_in


async def test_an_entry_is_added_shared_redeemed_and_taken_back(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """The owner's and the guest's side, in two shells."""
    bob = await signed_in(desk, tmp_path / "bob", "bob")
    job = (await desk.running_job(shell.caller))["id"]
    added = await shell.run(
        "entry", "add", job, "--name", "web", "--protocol", "http", "--level", "private", "--target-port", "8000"
    )
    assert (added.status, ".proxy.localhost:8888/" in added.out) == (0, True)
    shared = (await shell.run("entry", "share", f"{job}/web", "--max-uses", "1", "--json")).json
    redeemed = await bob.run("redeem", shared["code"])
    assert (redeemed.status, "web" in redeemed.out) == (0, True)
    assert job in (await bob.run("entry", "list")).out
    assert "0 entries that others share with you; a job's own: starlight" in (await shell.run("entry", "list")).out
    opened = await bob.run(
        "entry", "open", (await bob.run("entry", "list", "--json")).json["items"][0]["entry"]["label"]
    )
    assert (opened.status, opened.out.startswith("http://")) == (0, True)
    unshared = await shell.run("entry", "unshare", f"{job}/web")
    assert unshared.out == "Done; every gateway has confirmed\n"
    assert (await shell.run("entry", "remove", f"{job}/web")).status == 0
    gone = await shell.run("entry", "remove", f"{job}/web")
    assert (gone.status, gone.err) == (1, f"starlight: The job {job} has no entry web\n")


async def test_ssh_config_has_a_stanza_for_each_reachable_job(desk: Desk, shell: Shell) -> None:
    """Ready to be appended to ~/.ssh/config; a job without an active fixed ssh entry has none."""
    job = (await desk.running_job(shell.caller))["id"]
    await desk.running_job(shell.caller, ssh_default=False)
    printed = await shell.run("ssh-config")
    assert printed.out == f"Host {job}\n    HostName 127.0.0.1\n    Port 8022\n    User alice+{job}\n"
