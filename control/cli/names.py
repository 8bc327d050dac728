"""Jobs and entries as people name them: by id, by the job's name where only one has it, by `JOB/ENTRY`."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from control.cli.client import FailedError
from control.cli.outcome import Asked
from control.domain.jobs.states import State, word

_SHOWN: Final = 20
"""Jobs of one name that an error lists."""


async def find_job(asked: Asked, reference: str) -> dict[str, Any]:
    """The job with this id, else the one job of this name: of those that are running, then of those that ended.

    Raises FailedError; for several of the name it lists them.
    """
    try:
        job: dict[str, Any] = await asked.client.call("GET", job_path(reference))
        return job
    except FailedError as unknown:
        if unknown.problem.get("code") != "not_found":
            raise
        for view in ("running", "history"):
            named = await _named(asked, reference, view)
            if len(named) > 1:
                raise _several(asked, reference, named) from None
            if named:
                return named[0]
        raise


async def find_entry(asked: Asked, reference: str) -> str:
    """The id of the entry that is named `JOB/ENTRY`; what else was given is taken for an id or a label."""
    job, slash, name = reference.rpartition("/")
    if not slash:
        return quote(reference, safe="")
    try:
        found = await find_job(asked, job)
    except FailedError as unknown:
        if unknown.problem.get("code") != "not_found":
            raise
        shared = await _shared(asked, job, name)
        if len(shared) != 1:
            raise
        return shared[0]
    for entry in found["entries"]:
        if entry["name"] == name:
            return str(entry["id"])
    detail = asked.say("作业 {job} 没有入口 {name}", "The job {job} has no entry {name}", job=found["id"], name=name)
    raise FailedError({"code": "not_found", "status": 404, "title": detail, "detail": detail})


def job_path(job: str) -> str:
    """The path of the job with this id."""
    return f"/jobs/{quote(job, safe='')}"


async def _shared(asked: Asked, job: str, name: str) -> list[str]:
    """Entries of this name that others share with the reader, of a job with this id or name."""
    shared = await asked.client.call("GET", "/entries", query={"view": "shared"})
    return [
        str(held["entry"]["id"])
        for held in shared["items"]
        if held["entry"]["name"] == name and job in (held["job"]["id"], held["job"]["name"])
    ]


async def _named(asked: Asked, name: str, view: str) -> list[dict[str, Any]]:
    """The reader's jobs of exactly this name; the filter of lists finds parts of names, too."""
    named: list[dict[str, Any]] = []
    page = 1
    while True:
        query = {"view": view, "name": name, "per_page": 100, "page": page}
        found = await asked.client.call("GET", "/jobs", query=query)
        named += [job for job in found["items"] if job["name"] == name]
        if page * 100 >= found["total"] or len(named) > _SHOWN:
            return named
        page += 1


def _several(asked: Asked, name: str, jobs: list[dict[str, Any]]) -> FailedError:
    say = asked.say
    lines = [
        f"  {job['id']}  {word(State(job['state']), say.language)}  {job['submitted_at']}" for job in jobs[:_SHOWN]
    ]
    if len(jobs) > _SHOWN:
        lines.append("  ...")
    head = say(
        "有多个名为 {name} 的作业，请改用作业 id：", "Several jobs are named {name}; use an id instead:", name=name
    )
    found = [{"id": job["id"], "state": job["state"], "submitted_at": job["submitted_at"]} for job in jobs]
    detail = "\n".join([head, *lines])
    return FailedError({"code": "ambiguous_job", "status": 0, "title": head, "detail": detail, "jobs": found})
