"""Jobs, as actions see them."""

from __future__ import annotations

import asyncio

import pytest

from control.actions import jobs, rights
from control.actions.context import Context, Person
from control.actions.submission import Wish
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from control.domain.jobs.states import State, Wanted
from control.store import audit, people
from control.store.listing import JobFilter
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk

RUN = Wish(command=("true",))


async def test_one_key_is_one_job_however_many_ask_at_once(ctx: Context, alice: Person) -> None:
    """The first writes it, the others are given it."""
    wish = Wish(command=("true",), client_key="k")
    made = await asyncio.gather(*(jobs.submit(ctx, alice, wish) for _ in range(4)))
    assert len({seen.job.id for seen, _ in made}) == 1
    assert sorted(is_new for _, is_new in made) == [False, False, False, True]


async def test_a_repeated_submit_gives_its_random_port_back(desk: Desk, ctx: Context, alice: Person) -> None:
    """Of two that ran side by side one port is kept."""
    spec = EntrySpec("db", Protocol.TCP, Level.OPEN, 5432, PortKind.RANDOM)
    wish = Wish(command=("true",), client_key="k", entries=(spec,))
    made = await asyncio.gather(*(jobs.submit(ctx, alice, wish) for _ in range(3)))
    held = {seen.entries[0].entry.port for seen, _ in made}
    assert len(held) == 1
    assert held.isdisjoint(desk.ports.released)
    assert len(desk.ports.released) == desk.ports.next - 40_000 - 1


async def test_a_submit_fixes_who_the_person_is_on_the_cluster(ctx: Context, alice: Person) -> None:
    """Before the job is started as them."""
    await jobs.submit(ctx, alice, RUN)
    async with ctx.db.read() as session:
        identity = await people.identity(session, alice.id, "local")
    assert identity is not None
    assert (identity.uid, identity.home) == (60_000 + alice.id, "/data/homes/alice")


@pytest.mark.parametrize(
    ("states", "deeds"),
    [
        ([], ("close",)),
        ([State.CREATING], ("close",)),
        ([State.CREATING, State.RUNNING], ("close", "suspend")),
        ([State.CREATING, State.RUNNING, State.SUSPENDED], ("close", "resume")),
        ([State.CREATING, State.RUNNING, State.FINISHED], ()),
        ([State.CREATING, State.RUNNING, State.ABNORMAL_EXIT], ("close",)),
    ],
)
async def test_what_may_be_done_follows_the_state(
    desk: Desk, ctx: Context, alice: Person, states: list[State], deeds: tuple[str, ...]
) -> None:
    """The page shows no button that would be refused."""
    job = (await jobs.submit(ctx, alice, RUN))[0].job.id
    for state in states:
        await desk.move(job, state)
    assert (await jobs.show(ctx, alice, job)).deeds == deeds


async def test_an_abnormal_end_stays_in_view_until_closed_or_a_day_has_passed(
    desk: Desk, ctx: Context, alice: Person
) -> None:
    """So that its owner sees it."""
    job = (await jobs.submit(ctx, alice, RUN))[0].job.id
    for state in (State.CREATING, State.RUNNING, State.ABNORMAL_EXIT):
        await desk.move(job, state)
    assert (await jobs.show(ctx, alice, job)).view == "running"
    desk.clock.at += 24 * 3600
    assert (await jobs.show(ctx, alice, job)).view == "history"


async def test_closing_waits_for_the_gateways_and_names_who_did_it(
    desk: Desk, ctx: Context, alice: Person, admin: Person
) -> None:
    """An administrator's close is in the job's own history and in the audit."""
    job = (await jobs.submit(ctx, alice, RUN))[0].job.id
    seen = await jobs.close(ctx, admin, job)
    assert (seen.job.wanted, seen.job.closing_by, seen.deeds) == (Wanted.CLOSED, "root", ())
    assert desk.gateways.asked[-1] > 0
    again = await jobs.close(ctx, alice, job)
    assert again.job.closing_by == "root"
    async with ctx.db.read() as session:
        rows = await audit.recent(session, subject=f"job:{job}")
    assert [(row.action, row.user_name) for row in rows] == [
        ("job.close", "alice"),
        ("job.close", "root"),
        ("job.submit", "alice"),
    ]


async def test_lists_are_refused_to_who_may_not_see_them(
    ctx: Context, alice: Person, bob: Person, admin: Person
) -> None:
    """Another's list, everyone's, and one sorted by what nobody may sort by."""
    await jobs.submit(ctx, alice, RUN)
    everything = JobFilter(owner_id=None)
    assert (await jobs.page(ctx, bob, everything, None, 1, 20))[1] == 0
    assert (await jobs.page(ctx, alice, everything, "alice", 1, 20))[1] == 1
    for owner in ("alice", rights.EVERYONE):
        with refused(Code.ADMIN_ONLY):
            await jobs.page(ctx, bob, everything, owner, 1, 20)
        assert (await jobs.page(ctx, admin, everything, owner, 1, 20))[1] == 1
    with refused(Code.NOT_FOUND):
        await jobs.page(ctx, admin, everything, "nobody", 1, 20)
    with refused(Code.INVALID_INPUT):
        await jobs.page(ctx, alice, JobFilter(owner_id=None, sort="env"), None, 1, 20)
