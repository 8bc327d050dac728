"""Lists of jobs as people ask for them: filtered, sorted and paged by the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Select, and_, func, not_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from control.domain.jobs.states import LINGERING, LIVE, UNCLOSED_SHOWN_S, State
from control.store.tables import Job

SORTABLE: Final[dict[str, Any]] = {
    "id": Job.number,
    "name": Job.name,
    "state": Job.state,
    "cluster": Job.cluster,
    "partition": Job.partition,
    "app": Job.app,
    "node": Job.node,
    "submitted_at": Job.submitted_at,
    "started_at": Job.started_at,
    "ended_at": Job.ended_at,
}
"""What `sort` may name; a leading `-` turns the order around."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What a list of jobs is narrowed to. `owner_id` None means everyone's."""

    owner_id: int | None
    view: Literal["running", "history"] | None = None
    cluster: str | None = None
    name: str | None = None
    id: str | None = None
    partition: str | None = None
    states: tuple[State, ...] = ()
    submitted_after: float | None = None
    submitted_before: float | None = None
    sort: str = "-id"


async def page(
    session: AsyncSession, wanted: JobFilter, *, offset: int, limit: int, now: float
) -> tuple[Sequence[Job], int]:
    """One page of jobs, and how many match in all. Raises KeyError for a `sort` that is not in SORTABLE."""
    narrowed = select(Job).where(and_(True, *_conditions(wanted, now)))
    total = await session.scalar(select(func.count()).select_from(narrowed.subquery())) or 0
    rows = await session.scalars(_sorted(narrowed, wanted.sort).offset(offset).limit(limit))
    return rows.all(), total


def _sorted(rows: Select[tuple[Job]], sort: str) -> Select[tuple[Job]]:
    column = SORTABLE[sort.removeprefix("-")]
    # The number breaks ties, so that pages neither repeat nor skip a job.
    if sort.startswith("-"):
        return rows.order_by(column.desc().nulls_last(), Job.number.desc())
    return rows.order_by(column.asc().nulls_last(), Job.number.asc())


def _conditions(wanted: JobFilter, now: float) -> list[ColumnElement[bool]]:
    exact = {Job.owner_id: wanted.owner_id, Job.cluster: wanted.cluster, Job.partition: wanted.partition}
    found = [column == value for column, value in exact.items() if value is not None]
    found += [
        column.icontains(text, autoescape=True)
        for column, text in ((Job.name, wanted.name), (Job.id, wanted.id))
        if text
    ]
    if wanted.states:
        found.append(Job.state.in_(wanted.states))
    if wanted.submitted_after is not None:
        found.append(Job.submitted_at >= wanted.submitted_after)
    if wanted.submitted_before is not None:
        found.append(Job.submitted_at < wanted.submitted_before)
    if wanted.view is not None:
        running = _running_view(now)
        found.append(running if wanted.view == "running" else not_(running))
    return found


def _running_view(now: float) -> ColumnElement[bool]:
    """`domain.jobs.states.is_running_view` in the database's words."""
    lingers = and_(
        Job.state.in_(LINGERING), Job.closed_at.is_(None), func.coalesce(Job.ended_at, 0.0) > now - UNCLOSED_SHOWN_S
    )
    return or_(Job.state.in_(LIVE), lingers)
