"""`starlight job ...`, run as a program against the running API."""

from __future__ import annotations

import json

from control.domain.jobs.states import State
from tests.control.api.desk import Desk
from tests.control.cli.shell import Shell


async def test_a_job_is_submitted_listed_shown_and_closed(desk: Desk, shell: Shell) -> None:
    """The walk of a first session, words for people and JSON for programs."""
    made = await shell.run(
        "job", "submit", "--name", "训练", "--cpus", "2", "--memory", "1G", "--time", "1h", "--env", "A=b=c",
        "--entry", "name=web,protocol=http,level=private,target_port=8000", "--", "python3", "-m", "http.server",
    )  # fmt: skip
    assert (made.status, made.out.strip()) == (0, "Submitted job-1 (queued)")
    listed = await shell.run("job", "list")
    assert "job-1" in listed.out
    assert "训练" in listed.out
    shown = (await shell.run("job", "show", "job-1", "--json")).json
    assert (shown["cpus"], shown["memory_bytes"], shown["time_limit_s"]) == (2, 2**30, 3600)
    assert shown["command"] == ["python3", "-m", "http.server"]
    assert [entry["name"] for entry in shown["entries"]] == ["web", "ssh-default"]
    assert "Events:" in (await shell.run("job", "show", "job-1")).out
    closed = await shell.run("job", "close", "job-1")
    assert (closed.status, closed.out.strip()) == (0, "job-1: closing")


async def test_the_same_key_submits_once(shell: Shell) -> None:
    """A script may be run again after it was cut off."""
    first = await shell.run("job", "submit", "--key", "k", "--json", "--", "true")
    again = await shell.run("job", "submit", "--key", "k", "--json", "--", "true")
    assert first.json["id"] == again.json["id"]


async def test_words_follow_the_locale(desk: Desk, shell: Shell) -> None:
    """Chinese for a Chinese locale, the states as the manual calls them."""
    await shell.run("job", "submit", "--", "true")
    listed = await shell.run("job", "list", env={"LANG": "zh_CN.UTF-8"})
    assert "排队中" in listed.out
    assert "共 1 个作业" in listed.out


async def test_a_log_is_printed_byte_for_byte(desk: Desk, shell: Shell) -> None:
    """What is not UTF-8 comes through as well, whole, from the end, and followed to the job's end."""
    raw = b"line \xff\x00\n" * 3
    job = await desk.running_job(shell.caller)
    (desk.runtime.logs / f"{job['id']}.log").write_bytes(raw)
    assert (await shell.run("job", "logs", job["id"])).raw == raw
    assert (await shell.run("job", "logs", job["id"], "--tail", "8")).raw == raw[-8:]
    await desk.move(job["id"], State.FINISHED)
    assert (await shell.run("job", "logs", "-f", job["id"])).raw == raw


async def test_a_refusal_is_a_sentence_and_status_1(shell: Shell) -> None:
    """On stderr for people, with its faulty fields; the problem itself for programs."""
    refused = await shell.run("job", "show", "nothing-9")
    assert (refused.status, refused.out) == (1, "")
    assert refused.err == "starlight: There is no nothing-9, or you may not see it.\n"
    faulty = await shell.run("job", "submit", "--cpus", "99", "--", "true")
    assert (faulty.status, "cpus: " in faulty.err) == (1, True)
    plain = await shell.run("job", "show", "nothing-9", "--json")
    assert (plain.status, json.loads(plain.out)["code"]) == (1, "not_found")


async def test_a_submission_of_nothing_says_how_to_name_something(shell: Shell) -> None:
    """With the two ways and an example, not with the name of a field."""
    refused = await shell.run("job", "submit", "--name", "x")
    assert (refused.status, "after --" in refused.err, "--app" in refused.err) == (1, True, True)


async def test_wrong_usage_is_status_2(shell: Shell) -> None:
    """And says what would be right."""
    for words in (["job"], ["job", "fly"], ["job", "submit", "--memory", "much"], ["job", "submit", "--env", "x"], []):
        wrong = await shell.run(*words)
        assert wrong.status == 2, words
        assert "usage: starlight" in wrong.err
