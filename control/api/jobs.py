"""Jobs: submit, list, show, close, suspend, resume, and the status text."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from control.actions import jobs
from control.actions.jobs import JobSeen
from control.actions.submission import Wish
from control.api.asked import Asked
from control.api.route import Answer, Body, Query, Shape, route
from control.api.shapes.entries import EntrySpec, read_specs
from control.api.shapes.jobs import Job, StateWord, ViewWord, print_job, told_of
from control.api.values import Instant, Line, Listed, PageQuery, Raw, When
from control.domain import conditions, events, status_text
from control.domain.jobs.states import State
from control.domain.status_text import Happened
from control.store.listing import JobFilter

_MOST_PARTS: Final = 256
_BIGGEST: Final = 2**53
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class JobSpec(Body):
    """What to run. `command` or `app` is required; everything else has a default.

    Defaults: name = the app's or the command's base name; one node, one cpu, no gpu; memory and time limit those
    of the partition. Entries given with an app replace the app's own of the same name. The same `client_key` gives
    the same job again instead of another one.
    """

    name: Line | None = None
    app: Line | None = None
    cluster: Line | None = None
    partition: Line | None = None
    image: Line | None = None
    command: Annotated[list[Raw], Field(min_length=1, max_length=_MOST_PARTS)] | None = None
    env: Annotated[dict[Line, Raw], Field(max_length=_MOST_PARTS)] = Field(default_factory=dict)
    nodes: Count = 1
    cpus: Count = 1
    gpus: Count = 0
    memory_bytes: Annotated[int, Field(ge=0, le=_BIGGEST)] | None = None
    time_limit_s: Annotated[int, Field(ge=0, le=_BIGGEST)] | None = None
    entries: Annotated[list[EntrySpec], Field(max_length=64)] = Field(default_factory=list)
    ssh_default: bool = True
    client_key: Line | None = None


class JobsQuery(PageQuery):
    """Which jobs. `name` and `id` match parts, `state` may repeat; `sort` is a field's name, `-` in front turns it."""

    view: ViewWord | None = None
    cluster: Line | None = None
    name: Line | None = None
    id: Line | None = None
    partition: Line | None = None
    state: list[StateWord] = Field(default_factory=list, max_length=len(State))
    submitted_after: When | None = None
    submitted_before: When | None = None
    sort: Line = "-submitted_at"
    owner: Line | None = None


class StatusQuery(Query):
    """The language of the text can be asked for in the address."""

    language: Literal["zh", "en"] | None = None


class Condition(Shape):
    """Something that has to hold before a job can be used."""

    type: str
    ok: bool
    reason: str | None
    message: str | None
    since: Instant


class Event(Shape):
    """Something that happened to a job."""

    at: Instant
    kind: Literal["Normal", "Warning"]
    reason: str
    message: str


class Status(Shape):
    """Why a job is as it is; `text` is laid out as in the manual."""

    status: str
    conditions: list[Condition]
    events: list[Event]
    text: str


async def submit_job(asked: Asked, body: JobSpec) -> Answer[Job]:
    """Submits a job: 201, or 200 with the job that was submitted with this `client_key` before."""
    seen, is_new = await jobs.submit(asked.ctx, asked.who, _wish(body))
    headers = {"Location": f"/api/v1/jobs/{seen.job.id}"}
    return Answer(_print(asked, seen), status=201 if is_new else 200, headers=headers)


async def list_jobs(asked: Asked, query: JobsQuery) -> Listed[Job]:
    """Lists jobs, filtered, sorted and paged by the server.

    `owner` is for administrators: a user name, or `*` for everyone.
    """
    wanted = JobFilter(
        owner_id=asked.who.id,
        view=query.view,
        cluster=query.cluster,
        name=query.name,
        id=query.id,
        partition=query.partition,
        states=tuple(State(word) for word in query.state),
        submitted_after=query.submitted_after,
        submitted_before=query.submitted_before,
        sort=query.sort,
    )
    seen, total = await jobs.page(asked.ctx, asked.who, wanted, query.owner, query.page, query.per_page)
    return Listed(items=[_print(asked, each) for each in seen], total=total, page=query.page, per_page=query.per_page)


async def show_job(asked: Asked, job: str) -> Job:
    """One job with its entries."""
    return _print(asked, await jobs.show(asked.ctx, asked.who, job))


async def close_job(asked: Asked, job: str) -> Job:
    """Ends a live job, or moves an ended one to history."""
    return _print(asked, await jobs.close(asked.ctx, asked.who, job))


async def suspend_job(asked: Asked, job: str) -> Job:
    """Holds a running job; its resources stay taken."""
    return _print(asked, await jobs.suspend(asked.ctx, asked.who, job))


async def resume_job(asked: Asked, job: str) -> Job:
    """Lets a suspended job go on."""
    return _print(asked, await jobs.resume(asked.ctx, asked.who, job))


async def show_status(asked: Asked, job: str, query: StatusQuery) -> Status:  # noqa: ARG001 - read by language_of
    """Why a job is as it is: status, conditions, events, and the same as text."""
    row, happened = await jobs.events(asked.ctx, asked.who, job)
    held = conditions.from_plain(row.conditions)
    told = [Happened(each.at, each.kind, each.code, told_of(row.id, each.params)) for each in happened]
    because = None if row.reason_code is None else (row.reason_code, told_of(row.id, row.reason_params))
    text = status_text.render(row.state, held, told, container=row.id, because=because, language=asked.language)
    return Status(
        status=status_text.STATUS_WORDS[row.state],
        conditions=[_print_condition(asked, each) for each in held],
        events=[_print_event(asked, each) for each in told],
        text=text,
    )


def _print(asked: Asked, seen: JobSeen) -> Job:
    return print_job(seen, asked.language, asked.ctx.settings)


def _print_condition(asked: Asked, condition: conditions.Condition) -> Condition:
    return Condition(
        type=condition.type.value,
        ok=condition.ok,
        reason=condition.code.value or None,
        message=condition.message(asked.language) or None,
        since=condition.since,
    )


def _print_event(asked: Asked, event: Happened) -> Event:
    return Event(
        at=event.at,
        kind=event.kind.value,
        reason=events.reason(event.code, event.params),
        message=events.message(event.code, event.params, asked.language),
    )


def _wish(body: JobSpec) -> Wish:
    plain = body.model_dump(exclude={"entries", "command", "env"})
    return Wish(
        **plain,
        command=None if body.command is None else tuple(body.command),
        env=body.env,
        entries=read_specs(body.entries),
    )


ROUTES: Final = (
    route("POST", "/jobs", submit_job, status=201),
    route("GET", "/jobs", list_jobs),
    route("GET", "/jobs/{job}", show_job),
    route("POST", "/jobs/{job}/close", close_job),
    route("POST", "/jobs/{job}/suspend", suspend_job),
    route("POST", "/jobs/{job}/resume", resume_job),
    route("GET", "/jobs/{job}/status", show_status),
)
