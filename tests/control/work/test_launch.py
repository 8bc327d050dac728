"""Launches: what the engine is told, what is saved when, what a refusal means."""

from __future__ import annotations

from control.domain.entries import EntrySpec, ssh_default
from control.domain.jobs.states import State
from control.store import entries
from control.store.tables import Job
from gateway.contract.bridge import Fault
from gateway.contract.routes import Level, Protocol
from tests.control.work.conftest import DOORS, Loops


async def test_order_tells_the_job_its_ports(loops: Loops) -> None:
    """The owner's environment, and the platform's words on top."""
    name = await loops.submit()
    async with loops.db.write() as session:
        job = await session.get_one(Job, name)
        await entries.add_entry(session, job, EntrySpec("my web", Protocol.HTTP, Level.OPEN, 8080), DOORS, 1.0)
        await entries.add_entry(session, job, ssh_default(), DOORS, 1.0)
    await loops.launcher.start(await loops.row(name))
    order = loops.runtime.orders[0]
    assert order.env == {
        "A": "1",
        "STARLIGHT_JOB_ID": name,
        "STARLIGHT_JOB_NAME": "web",
        "STARLIGHT_CLUSTER": "local",
        "STARLIGHT_PORT_MY_WEB": "8080",
        "STARLIGHT_PORT_SSH_DEFAULT": "22",
    }
    assert (order.owner_name, order.uid, order.home) == ("alice", 70001, "/homes/alice")
    assert order.work_dir == f"/homes/alice/jobs/{name}"


async def test_refused_launch_is_create_failed(loops: Loops) -> None:
    """With the bridge's word, without its detail."""
    name = await loops.submit()
    loops.runtime.refuses = Fault.FORBIDDEN
    assert await loops.launcher.start(await loops.row(name)) is None
    row = await loops.row(name)
    assert (row.state, row.reason_params) == (State.CREATE_FAILED, {"code": "forbidden"})


async def test_unknown_cluster_is_create_failed(loops: Loops) -> None:
    """Nobody could ever start it."""
    name = await loops.submit(cluster="far")
    assert await loops.launcher.start(await loops.row(name)) is None
    assert (await loops.row(name)).state is State.CREATE_FAILED


async def test_app_that_has_to_be_installed_is_told(loops: Loops) -> None:
    """One event; what is ready, or no app any more, has none."""
    for app, told in (("lab", True), ("ready", False), ("gone", False)):
        name = await loops.submit(app=app)
        await loops.launcher.start(await loops.row(name))
        assert ("Installing" in await loops.events(name)) is told


async def test_job_that_ended_meanwhile_is_not_started(loops: Loops) -> None:
    """The row is looked at once more before the engine is asked."""
    name = await loops.submit()
    stale = await loops.row(name)
    await loops.launcher._schedule(stale)
    loops.runtime.refuses = Fault.FAILED
    await loops.launcher.start(await loops.row(name))
    loops.runtime.refuses = None
    await loops.launcher.start(stale)
    assert loops.runtime.orders == []


async def test_finished_launch_never_looks_asked_for_again(loops: Loops) -> None:
    """A repetition does not forget the engine's handle."""
    name = await loops.submit()
    row = await loops.row(name)
    await loops.launcher._save(row, {"job": name, "shim_pid": 7})
    await loops.launcher._save(row, {"job": name, "step": "asked"})
    assert (await loops.row(name)).handle == {"job": name, "shim_pid": 7}
