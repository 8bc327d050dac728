"""Jobs by id or name, entries by `JOB/ENTRY`; several of one name are listed."""

from __future__ import annotations

from pathlib import Path

from control.domain.jobs.states import State
from tests.control.api.desk import Desk
from tests.control.cli.shell import Shell, signed_in

WEB = {"name": "web", "protocol": "http", "level": "private", "target_port": 8000}


async def test_a_job_is_named_where_only_one_has_the_name(desk: Desk, shell: Shell) -> None:
    """A running one first, then one that ended; parts of names do not count."""
    job = await desk.running_job(shell.caller, name="train", entries=[WEB])
    await desk.running_job(shell.caller, name="train-more")
    assert (await shell.run("job", "show", "train", "--json")).json["id"] == job["id"]
    assert (await shell.run("entry", "list", "train", "--json")).json[0]["name"] == "web"
    assert (await shell.run("entry", "change", "train/web", "--level", "login")).status == 0
    assert (await shell.run("job", "close", "train")).status == 0
    await desk.move(job["id"], State.FINISHED)
    assert (await shell.run("job", "show", "train", "--json")).json["state"] == "finished"
    unknown = await shell.run("job", "show", "trai")
    assert (unknown.status, unknown.err) == (1, "starlight: There is no trai, or you may not see it.\n")


async def test_several_jobs_of_one_name_are_listed(desk: Desk, shell: Shell) -> None:
    """Nothing is done to any of them; programs get the ids."""
    jobs = [await desk.running_job(shell.caller, name="train") for _ in range(2)]
    refused = await shell.run("job", "close", "train")
    assert (refused.status, refused.out) == (1, "")
    assert all(job["id"] in refused.err for job in jobs)
    told = (await shell.run("entry", "list", "train", "--json")).json
    assert told["code"] == "ambiguous_job"
    assert {job["id"] for job in told["jobs"]} == {job["id"] for job in jobs}
    chinese = await shell.run("job", "show", "train", env={"LANG": "zh_CN.UTF-8"})
    assert "请改用作业 id" in chinese.err


async def test_a_guest_names_an_entry_by_its_job_too(desk: Desk, shell: Shell, tmp_path: Path) -> None:
    """Though the job itself is none of theirs."""
    bob = await signed_in(desk, tmp_path / "bob", "bob")
    job = await desk.running_job(shell.caller, name="train", entries=[WEB])
    code = (await shell.run("entry", "share", "train/web", "--json")).json["code"]
    assert (await bob.run("redeem", code)).status == 0
    assert (await bob.run("entry", "open", "train/web", "--json")).json["id"] == job["entries"][0]["id"]
    assert (await bob.run("entry", "open", f"{job['id']}/web", "--json")).json["id"] == job["entries"][0]["id"]
    assert (await bob.run("entry", "open", "train/ssh-default")).status == 1
