"""`starlight entry ...` and `redeem`."""

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
    assert "entries that others share with you: 0; a job's own: starlight" in (await shell.run("entry", "list")).out
    opened = await bob.run(
        "entry", "open", (await bob.run("entry", "list", "--json")).json["items"][0]["entry"]["label"]
    )
    assert (opened.status, opened.out.startswith("http://")) == (0, True)
    unshared = await shell.run("entry", "unshare", f"{job}/web")
    assert unshared.out == "Done; every gateway has confirmed\n"
    assert (await shell.run("entry", "remove", f"{job}/web")).status == 0
    gone = await shell.run("entry", "remove", f"{job}/web")
    assert (gone.status, gone.err) == (1, f"starlight: The job {job} has no entry web\n")


async def test_an_entry_is_added_with_limits_and_changed(desk: Desk, shell: Shell) -> None:
    """What is not named stays; all of it can be taken away."""
    job = (await desk.running_job(shell.caller))["id"]
    named = ["--name", "web", "--protocol", "http", "--level", "private", "--target-port", "8000"]
    added = await shell.run(
        "entry", "add", job, *named, "--max-connections", "5", "--cors-origin", "https://a", "--json"
    )
    assert (added.json["active"], added.json["limits"]["connections"]) == (True, 5)
    changed = await shell.run("entry", "change", f"{job}/web", "--max-body", "1M", "--json")
    assert changed.json["limits"] == {"connections": 5, "requests_per_minute": None, "body_bytes": 2**20}
    assert changed.json["cors_origins"] == ["https://a"]
    bare = await shell.run(
        "entry", "change", f"{job}/web", "--no-limits", "--no-cors-origins", "--level", "open", "--json"
    )
    assert (bare.json["limits"]["connections"], bare.json["cors_origins"], bare.json["level"]) == (None, [], "open")
    nothing = await shell.run("entry", "change", f"{job}/web")
    assert (nothing.status, "--help" in nothing.err) == (1, True)


async def test_adding_waits_until_the_gateways_serve_the_entry(desk: Desk, shell: Shell) -> None:
    """Not for ever; then it says what is waited for."""
    job = (await desk.running_job(shell.caller))["id"]
    desk.gateways.behind = ("web-0",)
    named = ["--protocol", "http", "--level", "private", "--target-port", "auto"]
    late = await shell.run("entry", "add", job, "--name", "late", *named, "--wait", "1")
    assert (late.status, "no" in late.out, "Waiting for the gateways" in late.out) == (0, True, True)
    desk.gateways.behind = ()
    assert (await shell.run("entry", "add", job, "--name", "soon", *named, "--json")).json["active"] is True
