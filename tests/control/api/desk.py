"""The API as it runs, in front of a real database: everything real but the engine, the supervisor and the gateways."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import aiohttp
from aiohttp.test_utils import TestServer
from argon2 import PasswordHasher
from cryptography.x509 import Certificate

from control.actions.context import Context
from control.api.app import make_api
from control.config import Settings, read_settings
from control.domain.apps import App, AppState, Installed
from control.domain.entries import EntrySpec
from control.domain.errors import Code, Sentence, problem
from control.domain.events import EventCode, NewEvent
from control.domain.jobs.observed import Observed
from control.domain.jobs.states import State
from control.domain.people import Role
from control.runtimes.ports import Ports
from control.runtimes.resolver import Resolver
from control.runtimes.runtime import Account, Capabilities, Handle, Order, Partition
from control.store import jobs, people
from control.store.engine import Database
from control.store.secrets import Vault
from control.store.signin import SignIn
from control.work.metrics import Metrics
from control.work.visits import Visits
from gateway.contract.routes import Level, PortKind, Protocol

PASSWORD = "correct horse"
START = 1_800_000_000.0
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
GIB = 1024**3


@dataclass
class Clock:
    """Time that passes only when a test says so."""

    at: float = START

    def __call__(self) -> float:
        return self.at


@dataclass
class FakeRuntime:
    """A cluster that does nothing; its jobs' logs are files that tests write."""

    logs: Path
    name: str = "local"
    isolation: str = "full"
    is_away: bool = False

    async def capabilities(self) -> Capabilities:
        if self.is_away:
            raise ConnectionError("the bridge is not there")
        part = Partition("local", nodes=1, cpus=8, gpus=0, memory_bytes=16 * GIB, free_memory_bytes=8 * GIB)
        return Capabilities("local", self.isolation, "pasta", sftp=True, suspend=True, partitions=(part,))

    async def healthy(self) -> bool:
        return not self.is_away

    def account_of(self, user_id: int, user_name: str) -> Account:
        return Account(60_000 + user_id, f"/data/homes/{user_name}")

    async def open_log(self, job: str) -> tuple[int, int]:
        try:
            log = os.open(self.logs / f"{job}.log", os.O_RDONLY)
        except FileNotFoundError:
            raise problem(Code.LOG_UNAVAILABLE, job=job) from None
        return log, os.open(self.logs / f"{job}.idx", os.O_RDONLY | os.O_CREAT, 0o600)

    async def start(self, order: Order) -> AsyncIterator[Handle]:
        yield {"job": order.job}

    async def probe(self, jobs: Sequence[str]) -> dict[str, Observed]:
        return {}

    async def stop(self, handle: Handle, *, grace_s: float) -> None:
        return None

    async def suspend(self, handle: Handle) -> None:
        return None

    async def resume(self, handle: Handle) -> None:
        return None


@dataclass
class FakePorts:
    """Random ports, counted up."""

    next: int = 40_000
    released: list[int] = field(default_factory=list)

    async def reserve(self) -> int:
        self.next += 1
        return self.next

    async def release(self, port: int) -> None:
        self.released.append(port)


@dataclass
class FakeGateways:
    """Gateways that acknowledge everything at once, but those that a test holds back."""

    behind: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    asked: list[int] = field(default_factory=list)

    async def settled(self, revision: int, deadline_s: float) -> tuple[str, ...]:
        self.asked.append(revision)
        return self.behind

    def serves(self, revision: int) -> bool:
        return not self.behind

    def missing(self) -> tuple[str, ...]:
        return self.absent


LAB = App(
    "jupyterlab",
    Sentence("JupyterLab", "JupyterLab"),
    Sentence("笔记本", "Notebooks"),
    ("jupyter", "lab"),
    (EntrySpec("lab", Protocol.HTTP, Level.PRIVATE, None, PortKind.FIXED),),
    readonly=("/data/apps/jupyterlab",),
)


@dataclass
class FakeApps:
    """One app, whose installation a test decides."""

    now: AppState = field(default_factory=lambda: AppState(Installed.READY))
    installs: list[str] = field(default_factory=list)

    def known(self) -> tuple[App, ...]:
        return (LAB,)

    def state(self, name: str) -> AppState:
        return self.now

    async def install(self, name: str) -> None:
        self.installs.append(name)


@dataclass
class Caller:
    """Somebody who calls the API with their own credentials."""

    http: aiohttp.ClientSession
    base: str
    headers: dict[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answered:
        """One call; `path` stands below /api/v1."""
        headers = self.headers | more.pop("headers", {})
        async with self.http.request(
            method, f"{self.base}/api/v1{path}", json=body, headers=headers, allow_redirects=False, **more
        ) as answer:
            raw = await answer.read()
            is_json = "json" in answer.content_type
            return Answered(answer.status, await answer.json(content_type=None) if is_json and raw else raw, answer)

    async def get(self, path: str, **more: Any) -> Answered:
        return await self.call("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Answered:
        return await self.call("POST", path, body, **more)

    async def put(self, path: str, body: Any = None, **more: Any) -> Answered:
        return await self.call("PUT", path, body, **more)

    async def patch(self, path: str, body: Any = None, **more: Any) -> Answered:
        return await self.call("PATCH", path, body, **more)

    async def delete(self, path: str, **more: Any) -> Answered:
        return await self.call("DELETE", path, **more)


@dataclass
class Answered:
    """An answer: its status, its JSON (or bytes), and the rest of it."""

    status: int
    body: Any
    raw: aiohttp.ClientResponse

    @property
    def code(self) -> str:
        """The code of a problem, or nothing."""
        return str(self.body.get("code", "")) if isinstance(self.body, dict) else ""


@dataclass
class Desk:
    """The running API with its parts within reach."""

    ctx: Context
    db: Database
    clock: Clock
    runtime: FakeRuntime
    ports: FakePorts
    gateways: FakeGateways
    visits: Visits
    apps: FakeApps
    settings: Settings
    http: aiohttp.ClientSession
    server: TestServer
    base: str
    names: PlayedNames
    roots: list[Certificate]

    @property
    def anyone(self) -> Caller:
        """A caller without credentials who reads English."""
        return Caller(self.http, self.base, {"Accept-Language": "en"})

    async def add_user(self, name: str, role: Role = Role.USER) -> int:
        """An account with PASSWORD."""
        async with self.db.write() as session:
            return (await people.add_user(session, name, await self.ctx.signin.hash(PASSWORD), role, self.clock())).id

    async def sign_in(self, name: str) -> Caller:
        """The same person, signed in with a bearer token."""
        made = await self.anyone.post("/sessions", {"username": name, "password": PASSWORD})
        assert made.status == 201, made.body
        return Caller(self.http, self.base, self.anyone.headers | {"Authorization": f"Bearer {made.body['token']}"})

    async def person(self, name: str, role: Role = Role.USER) -> Caller:
        """A new account, signed in."""
        await self.add_user(name, role)
        return await self.sign_in(name)

    async def move(self, job_id: str, state: State) -> None:
        """What the reconcile loop would write when the engine says so."""
        async with self.db.write() as session:
            job = await jobs.job(session, job_id)
            assert job is not None
            await jobs.transition(session, job, state, NewEvent(_EVENT_OF[state]), self.clock())

    async def running_job(self, owner: Caller, **spec: Any) -> dict[str, Any]:
        """A job of `owner` that runs."""
        made = await owner.post("/jobs", {"command": ["sleep", "60"]} | spec)
        assert made.status == 201, made.body
        await self.move(made.body["id"], State.CREATING)
        await self.move(made.body["id"], State.RUNNING)
        shown = await owner.get(f"/jobs/{made.body['id']}")
        return dict(shown.body)


_EVENT_OF = {
    State.CREATING: EventCode.SCHEDULED,
    State.RUNNING: EventCode.STARTED,
    State.SUSPENDED: EventCode.SUSPENDED,
    State.FINISHED: EventCode.FINISHED,
    State.FAILED: EventCode.FAILED,
    State.ABNORMAL_EXIT: EventCode.KILLED,
}


class PlayedNames(Resolver):
    """A name service that says what a test wrote down; None stands for no answer."""

    def __init__(self) -> None:
        super().__init__([])
        self.txt: dict[str, set[str]] = {}
        self.leads: dict[str, set[str]] = {}

    async def texts(self, name: str) -> frozenset[str]:
        """The TXT records written down."""
        return frozenset(self.txt.get(name, ()))

    async def addresses(self, name: str) -> frozenset[str]:
        """The addresses written down."""
        return frozenset(self.leads.get(name, ()))


@asynccontextmanager
async def open_desk(db: Database, tmp_path: Path) -> AsyncIterator[Desk]:
    """The API on a port of its own, over `db`."""
    logs, pages = tmp_path / "logs", tmp_path / "pages"
    logs.mkdir()
    pages.mkdir()
    (pages / "index.html").write_text("<title>console</title>")
    settings = read_settings(
        {
            "STARLIGHT_DATA_DIR": str(tmp_path / "data"),
            "STARLIGHT_PUBLIC_ADDRESS": "203.0.113.7",
            "STARLIGHT_ACME_DIRECTORY": "https://acme.test/directory",
            "STARLIGHT_ACME_TERMS_AGREED": "1",
            "STARLIGHT_ACME_TLS_PORT": "443",
        }
    )
    clock, runtime, ports, gateways, apps = Clock(), FakeRuntime(logs), FakePorts(), FakeGateways(), FakeApps()
    visits = Visits(db.hints)
    names, roots = PlayedNames(), list[Certificate]()
    ctx = Context(
        db=db,
        now=clock,
        settings=settings,
        runtimes={"local": runtime},
        ports=cast("Ports", ports),
        gateways=gateways,
        visits=visits,
        metrics=Metrics("scrape-token", visits.__len__),
        apps=apps,
        signin=SignIn(db, CHEAP),
        vault=Vault(b"k" * 32),
        resolver=names,
        roots=roots,
    )
    server: TestServer = TestServer(make_api(ctx, pages=pages))
    async with server, aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
        base = str(server.make_url("")).rstrip("/")
        yield Desk(ctx, db, clock, runtime, ports, gateways, visits, apps, settings, http, server, base, names, roots)
