"""A job, as the API shows it (contract: Job)."""

from __future__ import annotations

from typing import Any, Literal

from control.actions.jobs import Deed, JobSeen
from control.api.route import Shape
from control.api.shapes.entries import Entry, print_entry
from control.api.values import Instant
from control.config import Settings
from control.domain import events
from control.domain.errors import Language
from control.domain.jobs.hours import core_hours
from control.domain.jobs.states import Wanted

StateWord = Literal[
    "queued",
    "creating",
    "running",
    "suspended",
    "fault",
    "unknown",
    "finished",
    "failed",
    "create_failed",
    "cancelled",
    "abnormal_exit",
]
ViewWord = Literal["running", "history"]


class Job(Shape):
    """A job. `reason` is a word, `message` its sentence; `actions` is what the reader may do with the job now."""

    id: str
    name: str
    owner: str
    app: str | None
    cluster: str
    partition: str
    state: StateWord
    reason: str | None
    message: str | None
    node: str | None
    nodes: int
    containers: list[str]
    cpus: int
    gpus: int
    memory_bytes: int | None
    time_limit_s: int | None
    core_hours: float
    submitted_at: Instant
    scheduled_at: Instant | None
    started_at: Instant | None
    released_at: Instant | None
    ended_at: Instant | None
    exit_code: int | None
    work_dir: str
    image: str | None
    command: list[str]
    view: ViewWord
    actions: list[Deed]
    closing: bool
    revision: int
    entries: list[Entry]


def print_job(seen: JobSeen, language: Language, settings: Settings) -> Job:
    """A job with its entries."""
    row = seen.job
    code, params = row.reason_code, told_of(row.id, row.reason_params)
    return Job(
        id=row.id,
        name=row.name,
        owner=seen.owner,
        app=row.app,
        cluster=row.cluster,
        partition=row.partition,
        state=row.state.value,
        reason=None if code is None else events.reason(code, params),
        message=None if code is None else events.message(code, params, language),
        node=row.node or None,
        nodes=row.nodes,
        containers=[row.id] if row.scheduled_at is not None else [],
        cpus=row.cpus,
        gpus=row.gpus,
        memory_bytes=row.memory_bytes,
        time_limit_s=row.time_limit_s,
        core_hours=_hours(seen),
        submitted_at=row.submitted_at,
        scheduled_at=row.scheduled_at,
        started_at=row.started_at,
        released_at=row.released_at,
        ended_at=row.ended_at,
        exit_code=row.exit_code,
        work_dir=row.work_dir,
        image=row.image,
        command=list(row.command),
        view=seen.view,
        actions=list(seen.deeds),
        closing=row.wanted is Wanted.CLOSED and row.ended_at is None,
        revision=row.revision,
        entries=[print_entry(entry, language, settings) for entry in seen.entries],
    )


def told_of(job_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """An event's parameters with the job that it is told of, which events do not repeat."""
    return {"job": job_id, **params}


def _hours(seen: JobSeen) -> float:
    row = seen.job
    hours = core_hours(
        nodes=row.nodes, cpus=row.cpus, scheduled_at=row.scheduled_at, released_at=row.released_at, now=seen.now
    )
    return round(hours, 4)
