"""What tests of the loops share: a clock that stands still, a played runtime, the parts put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from control.domain.apps import AppState, Installed
from control.domain.entries import Doors
from control.domain.jobs.observed import Observed, Phase
from control.domain.jobs.spec import JobSpec
from control.domain.people import Role
from control.runtimes.runtime import Account, Capabilities, Handle, Order, RefusedError
from control.store import jobs, leases, people
from control.store.engine import Database
from control.store.tables import Job
from control.work.gateways import Gateways
from control.work.jobs import Jobs
from control.work.launch import Launcher
from control.work.lease import WorkLease
from control.work.probe import Probe
from gateway.contract.bridge import Fault
from gateway.contract.routes import Protocol

DOORS = Doors(
    "proxy.localhost",
    {Protocol.HTTP: 8888, Protocol.HTTPS: 8443, Protocol.SSH: 8022, Protocol.TCP: 8999},
    range(40000, 40100),
)


@dataclass
class Clock:
    """Time as the test says."""

    seconds: float = 1000.0

    def now(self) -> float:
        """Epoch seconds."""
        return self.seconds


@dataclass
class PlayedRuntime:
    """A cluster whose jobs are what the test says. `asked` is what it was asked, in order."""

    name: str = "local"
    seen: dict[str, Observed] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    away: bool = False
    refuses: Fault | None = None

    async def capabilities(self) -> Capabilities:
        """Not asked by the loops."""
        raise NotImplementedError

    async def healthy(self) -> bool:
        """Whether it answers."""
        return not self.away

    def account_of(self, user_id: int, user_name: str) -> Account:
        """An own uid for each person."""
        return Account(70000 + user_id, f"/homes/{user_name}")

    async def start(self, order: Order) -> AsyncIterator[Handle]:
        """Starts a job."""
        self._ask("start")
        self.orders.append(order)
        self.seen.setdefault(order.job, Observed(Phase.RUNNING, started_at=1.0, node="n1"))
        yield {"job": order.job, "shim_pid": 1}

    async def probe(self, jobs: Sequence[str]) -> dict[str, Observed]:
        """What was said of these jobs."""
        self._ask("probe")
        return {job: self.seen[job] for job in jobs if job in self.seen}

    async def stop(self, handle: Handle, *, grace_s: float) -> None:
        """Ends a job."""
        self._ask("stop")
        self.seen[handle["job"]] = Observed(Phase.ENDED, cause=None)

    async def suspend(self, handle: Handle) -> None:
        """Halts a job."""
        self._ask("suspend")
        self.seen[handle["job"]] = Observed(Phase.SUSPENDED)

    async def resume(self, handle: Handle) -> None:
        """Lets a job go on."""
        self._ask("resume")
        self.seen[handle["job"]] = Observed(Phase.RUNNING)

    async def open_log(self, job: str) -> tuple[int, int]:
        """Not asked by the loops."""
        raise NotImplementedError

    def _ask(self, verb: str) -> None:
        self.asked.append(verb)
        if self.away:
            raise ConnectionError("away")
        if self.refuses is not None:
            raise RefusedError(self.refuses, "/inner")


class PlayedApps:
    """`lab` has to be installed, `ready` is there."""

    def state(self, name: str) -> AppState:
        """How far it is."""
        return AppState({"lab": Installed.ABSENT, "ready": Installed.READY}[name])


@dataclass
class Loops:
    """The parts that work on jobs, with the lease in hand."""

    db: Database
    clock: Clock
    runtime: PlayedRuntime
    gateways: Gateways
    lease: WorkLease
    probe: Probe
    launcher: Launcher
    jobs: Jobs

    async def submit(self, *, app: str | None = None, cluster: str = "local") -> str:
        """A job of alice's; its id."""
        async with self.db.write() as session:
            alice = await people.user_by_name(session, "alice")
            if alice is None:
                alice = await people.add_user(session, "alice", "", Role.USER, 0.0)
            spec = JobSpec("web", app, cluster, "local", ("true",), "/homes/alice", env={"A": "1"})
            return (await jobs.add_job(session, alice, spec, self.clock.now())).id

    async def row(self, name: str) -> Job:
        """The job as it is stored now."""
        async with self.db.read() as session:
            return await session.get_one(Job, name)

    async def events(self, name: str) -> list[str]:
        """The words of its events."""
        async with self.db.read() as session:
            return [event.code.value for event in await jobs.events(session, name)]

    async def settle(self, name: str, rounds: int = 6) -> Job:
        """Takes steps until the job rests, or `rounds` of them."""
        for _ in range(rounds):
            if await self.jobs.reconcile(name) is None:
                break
        return await self.row(name)


@pytest.fixture
async def loops(db: Database) -> Loops:
    """The parts, on each database."""
    clock, runtime, gateways = Clock(), PlayedRuntime(), Gateways(db.hints)
    lease = WorkLease(db, "work", "test", clock.now)
    async with db.write() as session:
        lease._held = await leases.take(session, "work", "test", now=clock.now(), term_s=1e6)
    probe = Probe(db, lease, {"local": runtime}, clock.now)
    launcher = Launcher(db, lease, probe, {"local": runtime}, PlayedApps(), clock.now)
    return Loops(
        db, clock, runtime, gateways, lease, probe, launcher, Jobs(db, launcher, probe, gateways, {"local": runtime})
    )
