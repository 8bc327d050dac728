"""Jobs: submitted, listed, shown, closed, suspended, resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncSession

from control.actions.acting import Act, acting, settle
from control.actions.clusters import abilities_of
from control.actions.context import Context, Person
from control.actions.domains import claims_of, give
from control.actions.doors import doors_of
from control.actions.entries import EntrySeen
from control.actions.entries import seen as seen_entries
from control.actions.reserved import reserved_ports
from control.actions.rights import person_id, visible_job
from control.actions.submission import Wish, resolve
from control.domain.errors import Code, FieldCode, fault, invalid, problem
from control.domain.jobs.spec import JobSpec
from control.domain.jobs.states import ENDED, State, Wanted, is_running_view
from control.store import entries, jobs, listing, people
from control.store.domains import Claim
from control.store.listing import JobFilter
from control.store.tables import Event, Job, User

Deed = Literal["close", "suspend", "resume"]


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job with its entries, as somebody sees it at `now`; `deeds` is what they may do with it."""

    job: Job
    owner: str
    entries: tuple[EntrySeen, ...]
    now: float
    deeds: tuple[Deed, ...]

    @property
    def view(self) -> Literal["running", "history"]:
        """The list in which the job stands."""
        return "running" if _is_listed_running(self.job, self.now) else "history"


async def submit(ctx: Context, who: Person, wish: Wish) -> tuple[JobSeen, bool]:
    """Submits a job of `who`; the flag tells whether it is new (a known `client_key` gives the same job again).

    Raises ProblemError as `submission.resolve` does, NO_FREE_PORT, or NOT_FOUND.
    """
    if wish.client_key is not None:
        async with ctx.db.read() as session:
            known = await jobs.by_client_key(session, who.id, wish.client_key)
        if known is not None:
            return await show(ctx, who, known.id), False
    spec = await resolve(ctx, who, wish)
    claims = await claims_of(ctx, who, spec.entries)
    async with reserved_ports(ctx, spec.entries) as ports, acting(ctx, who, "job.submit", f"user:{who.id}") as act:
        job, is_new = await _add(ctx, act, who, spec, ports, claims)
    return await show(ctx, who, job.id), is_new


async def page(
    ctx: Context, who: Person, wanted: JobFilter, owner: str | None, page: int, per_page: int
) -> tuple[list[JobSeen], int]:
    """One page of jobs, and how many match. `owner` (for administrators) names another person, or EVERYONE.

    Raises ProblemError INVALID_INPUT for a `sort` there is not, ADMIN_ONLY, or NOT_FOUND for an unknown owner.
    """
    if wanted.sort.removeprefix("-") not in listing.SORTABLE:
        raise invalid(fault("sort", FieldCode.NOT_ONE_OF, allowed=", ".join(listing.SORTABLE)))
    now = ctx.now()
    async with ctx.db.read() as session:
        narrowed = replace(wanted, owner_id=await person_id(session, who, owner))
        rows, total = await listing.page(session, narrowed, offset=(page - 1) * per_page, limit=per_page, now=now)
        return await seen(session, ctx, who, rows), total


async def show(ctx: Context, who: Person, job_id: str) -> JobSeen:
    """One job. Raises ProblemError NOT_FOUND."""
    async with ctx.db.read() as session:
        job = await visible_job(session, who, job_id)
        return (await seen(session, ctx, who, [job]))[0]


async def events(ctx: Context, who: Person, job_id: str) -> tuple[Job, Sequence[Event]]:
    """A job with its events, oldest first. Raises ProblemError NOT_FOUND."""
    async with ctx.db.read() as session:
        job = await visible_job(session, who, job_id)
        return job, await jobs.events(session, job_id)


async def close(ctx: Context, who: Person, job_id: str) -> JobSeen:
    """Ends a live job; moves an ended one to history, its state unchanged. Repeating it changes nothing."""
    async with acting(ctx, who, "job.close", f"job:{job_id}") as act:
        job = await visible_job(act.session, who, job_id)
        revision = 0
        if job.state in ENDED:
            await jobs.close_ended(act.session, job, who.name, act.now)
        else:
            revision = await jobs.want(act.session, job, Wanted.CLOSED, who.name, act.now)
    await settle(ctx, revision)
    return await show(ctx, who, job_id)


async def suspend(ctx: Context, who: Person, job_id: str) -> JobSeen:
    """Holds a running job where it is; its resources stay taken. Raises ProblemError JOB_STATE or UNSUPPORTED."""
    return await _pause(ctx, who, job_id, "job.suspend", Wanted.SUSPENDED)


async def resume(ctx: Context, who: Person, job_id: str) -> JobSeen:
    """Lets a suspended job go on. Raises ProblemError JOB_STATE or UNSUPPORTED."""
    return await _pause(ctx, who, job_id, "job.resume", Wanted.RUNNING)


async def seen(session: AsyncSession, ctx: Context, who: Person, rows: Sequence[Job]) -> list[JobSeen]:
    """Jobs as `who` sees them, with a handful of questions to the database however many they are."""
    now = ctx.now()
    names = await people.names_of(session, {job.owner_id for job in rows})
    grouped = await entries.of_jobs(session, [job.id for job in rows])
    looks = await seen_entries(session, ctx, who, [(entry, job) for job in rows for entry in grouped[job.id]])
    by_job: dict[str, list[EntrySeen]] = {job.id: [] for job in rows}
    for look in looks:
        by_job[look.job.id].append(look)
    return [JobSeen(job, names.get(job.owner_id, ""), tuple(by_job[job.id]), now, _deeds(job, now)) for job in rows]


async def _add(
    ctx: Context, act: Act, who: Person, spec: JobSpec, ports: dict[str, int], claims: dict[str, Claim]
) -> tuple[Job, bool]:
    if spec.client_key is not None:
        known = await jobs.by_client_key(act.session, who.id, spec.client_key)
        if known is not None:  # the same submission was faster on another connection
            return known, False
    if await jobs.live_count(act.session, who.id) >= ctx.settings.max_jobs_per_user:
        raise problem(Code.TOO_MANY_JOBS, maximum=ctx.settings.max_jobs_per_user)
    owner = await act.session.get_one(User, who.id)
    account = ctx.runtimes[spec.cluster].account_of(owner.id, owner.name)
    await people.set_identity(act.session, owner, spec.cluster, account.uid, account.home)
    job = await jobs.add_job(act.session, owner, spec, act.now)
    for entry in spec.entries:
        port = ports.pop(entry.name, None)
        row = await entries.add_entry(act.session, job, entry, doors_of(ctx.settings), act.now, random_port=port)
        await give(ctx, act.session, row, job, claims.get(entry.name), act.now)
    act.subject = f"job:{job.id}"
    act.detail |= {"app": spec.app, "cluster": spec.cluster}
    return job, True


async def _pause(ctx: Context, who: Person, job_id: str, action: str, wanted: Wanted) -> JobSeen:
    cluster = (await show(ctx, who, job_id)).job.cluster
    abilities = await abilities_of(ctx, cluster)
    async with acting(ctx, who, action, f"job:{job_id}") as act:
        if not abilities.suspend:
            raise problem(Code.UNSUPPORTED, cluster=cluster, what=action.removeprefix("job."))
        await jobs.want(act.session, await visible_job(act.session, who, job_id), wanted, who.name, act.now)
    return await show(ctx, who, job_id)


def _deeds(job: Job, now: float) -> tuple[Deed, ...]:
    deeds: list[Deed] = []
    if _is_listed_running(job, now) and job.wanted is not Wanted.CLOSED:
        deeds.append("close")
    if job.wanted is not Wanted.CLOSED and job.state is State.RUNNING:
        deeds.append("suspend")
    if job.wanted is not Wanted.CLOSED and job.state is State.SUSPENDED:
        deeds.append("resume")
    return tuple(deeds)


def _is_listed_running(job: Job, now: float) -> bool:
    return is_running_view(job.state, closed=job.closed_at is not None, ended_at=job.ended_at, now=now)
