"""Access entries, as actions see them."""

from __future__ import annotations

import dataclasses

from control.actions import entries, jobs, shares
from control.actions.context import Context, Person
from control.actions.submission import Wish
from control.domain.entries import EntrySpec
from control.domain.errors import Code
from control.domain.jobs.states import State
from gateway.contract.routes import Level, PortKind, Protocol, Service
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk

WEB = EntrySpec("web", Protocol.HTTP, Level.PRIVATE, 8000)


async def test_an_entry_is_served_when_its_job_runs_and_all_gateways_hold_it(
    desk: Desk, ctx: Context, alice: Person
) -> None:
    """Not before, and not after."""
    job = (await jobs.submit(ctx, alice, Wish(command=("true",), entries=(WEB,))))[0].job.id

    async def served() -> bool:
        return (await jobs.show(ctx, alice, job)).entries[0].served

    assert not await served()
    await desk.move(job, State.CREATING)
    await desk.move(job, State.RUNNING)
    assert await served()
    desk.gateways.behind = ("ssh-0",)
    assert not await served()
    desk.gateways.behind = ()
    await desk.move(job, State.FINISHED)
    assert not await served()


async def test_a_job_holds_a_bounded_number_of_entries(ctx: Context, alice: Person) -> None:
    """32: every gateway carries them all."""
    job = (await jobs.submit(ctx, alice, Wish(command=("true",))))[0].job.id
    for number in range(31):
        spec = dataclasses.replace(WEB, name=f"e{number}", target_port=8000 + number)
        await entries.add(ctx, alice, job, spec)
    with refused(Code.INVALID_INPUT):
        await entries.add(ctx, alice, job, dataclasses.replace(WEB, name="more", target_port=9999))


async def test_a_random_port_is_kept_with_its_entry_and_released_with_it(
    desk: Desk, ctx: Context, alice: Person
) -> None:
    """After the gateways let go of it."""
    job = (await jobs.submit(ctx, alice, Wish(command=("true",))))[0].job.id
    spec = EntrySpec("db", Protocol.TCP, Level.OPEN, 5432, PortKind.RANDOM)
    seen = await entries.add(ctx, alice, job, spec)
    assert (seen.entry.port, desk.ports.released) == (40_001, [])
    await entries.remove(ctx, alice, str(seen.entry.id))
    assert desk.ports.released == [40_001]


async def test_only_the_owner_sees_that_an_entry_is_shared(ctx: Context, alice: Person, bob: Person) -> None:
    """It is nobody else's business."""
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",), entries=(WEB,)))
    reference = str(seen.entries[0].entry.id)
    made = await shares.share(ctx, alice, reference, shares.Wish())
    await shares.redeem(ctx, bob, made.code, None)
    assert (await entries.show(ctx, alice, reference)).shared
    assert not (await entries.show(ctx, bob, reference)).shared


async def test_levels_that_an_entry_cannot_have_are_refused(ctx: Context, alice: Person) -> None:
    """A web terminal is a shell: nobody opens one to everyone."""
    spec = EntrySpec("sh", Protocol.HTTP, Level.PRIVATE, None, service=Service.TERMINAL)
    seen, _ = await jobs.submit(ctx, alice, Wish(command=("true",), entries=(spec,)))
    with refused(Code.INVALID_INPUT):
        await entries.set_level(ctx, alice, str(seen.entries[0].entry.id), Level.OPEN)
