"""Entries are shown as ready when all serve them, and their random ports as lost when somebody took them."""

from __future__ import annotations

from pathlib import Path

from control.domain.entries import EntrySpec
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.states import State
from control.runtimes.supervisor import Supervisor
from control.store import entries, feed, jobs
from control.store.tables import Entry, Job
from control.work.routes import Routes
from gateway.contract.routes import Level, PortKind, Protocol
from tests.control.stage import Stage, staged
from tests.control.work.conftest import DOORS, Loops

LOOSE = EntrySpec("raw", Protocol.TCP, Level.OPEN, 5000, PortKind.RANDOM)


async def entry_of(loops: Loops) -> tuple[str, int]:
    """A running job with a random-port entry on 40001; the ids of both."""
    name = await loops.submit()
    async with loops.db.write() as session:
        job = await session.get_one(Job, name)
        entry = await entries.add_entry(session, job, LOOSE, DOORS, 1.0, random_port=40001)
    await loops.settle(name)
    return name, entry.id


async def stored(loops: Loops, entry_id: int) -> Entry:
    """The entry as it is stored now."""
    async with loops.db.read() as session:
        return await session.get_one(Entry, entry_id)


def routes_on(stage: Stage, loops: Loops) -> Routes:
    """The loop, with this stage's supervisor."""
    return Routes(loops.db, loops.lease, loops.gateways, Supervisor(stage.run_dir), loops.clock.now)


async def test_entry_is_ready_when_every_gateway_has_it(loops: Loops, tmp_path: Path) -> None:
    """Told once, with an event."""
    name, entry_id = await entry_of(loops)
    async with staged(tmp_path) as stage:
        routes = routes_on(stage, loops)
        await routes.look()
        assert (await stored(loops, entry_id)).ready_at is None
        async with loops.db.read() as session:
            latest = await feed.latest(session)
        for gateway, role in (("web-0", "web"), ("ssh-0", "ssh")):
            loops.gateways.registered(gateway, role, "i")
            loops.gateways.acknowledged(gateway, latest)
        for _ in range(2):
            await routes.look()
    assert (await stored(loops, entry_id)).ready_at == loops.clock.now()
    assert (await loops.events(name)).count("EntryReady") == 1


async def test_random_port_is_bound_while_its_entry_lives(loops: Loops, tmp_path: Path) -> None:
    """And given back at the end of the job."""
    name, _ = await entry_of(loops)
    async with staged(tmp_path) as stage:
        routes = routes_on(stage, loops)
        await routes.look()
        assert stage.reserved == {40001}
        async with loops.db.write() as session:
            job = await session.get_one(Job, name)
            await jobs.transition(session, job, State.FINISHED, NewEvent(EventCode.FINISHED), 2.0)
        await routes.look()
        assert stage.reserved == set()


async def test_ports_that_no_entry_holds_are_given_up(loops: Loops, tmp_path: Path) -> None:
    """Somebody else had one bound: a gateway, or a control that died before it wrote the entry."""
    await entry_of(loops)
    async with staged(tmp_path) as stage:
        stage.reserved = {40002}
        await routes_on(stage, loops).look()
        assert stage.reserved == {40001}


async def test_lost_port_is_shown_and_tried_again(loops: Loops, tmp_path: Path) -> None:
    """By the supervisor's word or a gateway's; each loss is one event."""
    name, entry_id = await entry_of(loops)
    async with staged(tmp_path) as stage:
        routes = routes_on(stage, loops)
        stage.busy = {40001}
        for _ in range(2):
            await routes.look()
        assert (await stored(loops, entry_id)).port_lost
        stage.busy = set()
        await routes.look()
        assert not (await stored(loops, entry_id)).port_lost
        loops.gateways.registered("web-0", "web", "i")
        loops.gateways.ports("web-0", {40001: "busy"})
        await routes.look()
        assert (await stored(loops, entry_id)).port_lost
    assert (await loops.events(name)).count("PortLost") == 2
