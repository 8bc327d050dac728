"""`starlight job ...`"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Final

from control.cli.client import FailedError
from control.cli.names import find_job, job_path
from control.cli.outcome import Asked, Outcome
from control.cli.words import Words, table
from control.domain.jobs.states import State, word

_CHUNK_BYTES: Final = 4 * 1024 * 1024


async def submit(asked: Asked) -> Outcome:
    """Submits a job and prints its id. Raises FailedError when there is nothing to run."""
    args = asked.args
    if not (args.app or args.command):
        detail = asked.say(
            "没有要运行的内容：在 -- 之后写命令，或用 --app 选择应用，例如 starlight job submit -- python3 train.py",
            "Nothing to run: write the command after --, or choose an app by --app, "
            "for example: starlight job submit -- python3 train.py",
        )
        raise FailedError({"code": "nothing_to_run", "detail": detail})
    body = {
        "name": args.name,
        "app": args.app,
        "cluster": args.cluster,
        "partition": args.partition,
        "command": args.command or None,
        "cpus": args.cpus,
        "gpus": args.gpus,
        "memory_bytes": args.memory,
        "time_limit_s": args.time,
        "env": dict(args.env) or None,
        "entries": args.entry or None,
        "ssh_default": False if args.no_ssh else None,
        "client_key": args.key,
    }
    job = await asked.client.call("POST", "/jobs", {name: value for name, value in body.items() if value is not None})
    line = asked.say(
        "已提交作业 {id}（{state}）", "Submitted {id} ({state})", id=job["id"], state=_state(job, asked.say)
    )
    return Outcome(job, [line])


async def list_jobs(asked: Asked) -> Outcome:
    """Lists jobs: running ones unless asked for history."""
    args = asked.args
    query = {
        "view": "history" if args.history else "running",
        "name": args.name,
        "state": args.state,
        "cluster": args.cluster,
        "page": args.page,
        "per_page": args.per_page,
        "sort": args.sort,
        "owner": args.owner,
    }
    found = await asked.client.call("GET", "/jobs", query=query)
    say = asked.say
    head = [
        say("作业 id", "ID"),
        say("名称", "NAME"),
        say("状态", "STATE"),
        say("分区", "PARTITION"),
        say("节点", "NODE"),
        say("机时", "CORE HOURS"),
    ]
    rows = [
        [
            job["id"],
            job["name"],
            _state(job, say),
            f"{job['cluster']}/{job['partition']}",
            job["node"],
            job["core_hours"],
        ]
        for job in found["items"]
    ]
    count = say("共 {total} 个作业", "jobs: {total}", total=found["total"])
    return Outcome(found, [*table(head, rows), count])


async def show(asked: Asked) -> Outcome:
    """Shows one job, its entries and why it is as it is."""
    job = await find_job(asked, asked.args.job)
    status = await asked.client.call("GET", f"{job_path(job['id'])}/status")
    say = asked.say
    facts = [
        (say("作业", "Job"), f"{job['id']} ({job['name']})"),
        (say("用户", "Owner"), job["owner"]),
        (say("状态", "State"), " ".join(filter(None, [_state(job, say), job["message"]]))),
        (say("集群", "Cluster"), f"{job['cluster']}/{job['partition']}"),
        (say("提交", "Submitted"), job["submitted_at"]),
        (say("开始", "Started"), job["started_at"]),
        (say("结束", "Ended"), job["ended_at"]),
        (say("退出码", "Exit code"), job["exit_code"]),
        (say("工作目录", "Directory"), job["work_dir"]),
    ]
    lines = [f"{name}: {value}" for name, value in facts if value not in (None, "")]
    return Outcome(
        job | {"status": status}, [*lines, "", *entry_lines(job["entries"], say), "", *status["text"].splitlines()]
    )


async def logs(asked: Asked) -> Outcome:
    """Prints a job's output as it was written; with -f goes on until the job ends."""
    start = 0 if asked.args.tail is None else -asked.args.tail
    path = job_path((await find_job(asked, asked.args.job))["id"])
    if asked.args.follow:
        return await _follow(asked, path, start)
    length, offset = 1, 0
    while offset < length:
        query = {"from": offset or start, "limit": _CHUNK_BYTES}
        chunk, headers = await asked.client.read(f"{path}/logs", query)
        sys.stdout.buffer.write(chunk)
        offset, length = int(headers["X-Log-From"]) + len(chunk), int(headers["X-Log-Length"])
        if not chunk:
            break
    sys.stdout.buffer.flush()
    return Outcome(None)


async def close(asked: Asked) -> Outcome:
    """Closes a job."""
    return await _deed(asked, "close")


async def suspend(asked: Asked) -> Outcome:
    """Suspends a running job."""
    return await _deed(asked, "suspend")


async def resume(asked: Asked) -> Outcome:
    """Lets a suspended job go on."""
    return await _deed(asked, "resume")


def entry_lines(entries: Sequence[dict[str, Any]], say: Words) -> list[str]:
    """A table of entries."""
    head = [
        say("入口", "ENTRY"),
        say("名称", "NAME"),
        say("级别", "LEVEL"),
        say("启用", "ACTIVE"),
        say("访问", "REACHED BY"),
    ]
    rows = [
        [
            entry["id"],
            entry["name"],
            entry["level"] + ("*" if entry["shared"] else ""),
            say("是", "yes") if entry["active"] else say("否", "no"),
            entry["url"] or entry["ssh_command"],
        ]
        for entry in entries
    ]
    return table(head, rows)


async def _follow(asked: Asked, path: str, start: int) -> Outcome:
    async for message in asked.client.listen(f"{path}/logs/stream", {"from": start}):
        if isinstance(message, bytes):
            sys.stdout.buffer.write(message)
            sys.stdout.buffer.flush()
        elif json.loads(message).get("end"):
            break
    return Outcome(None)


async def _deed(asked: Asked, deed: str) -> Outcome:
    found = await find_job(asked, asked.args.job)
    job = await asked.client.call("POST", f"{job_path(found['id'])}/{deed}")
    return Outcome(job, [f"{job['id']}: {_state(job, asked.say)}"])


def _state(job: dict[str, Any], say: Words) -> str:
    if job["closing"]:
        return say("关闭中", "closing")
    return word(State(job["state"]), say.language)
