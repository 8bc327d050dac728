"""Control's composition root: knows the concrete parts, puts them together, runs and drains them.

Started by the supervisor, which owns the listeners and lends them. The database is brought to this
version first, then what gateways hold is derived anew; after that the API, the feed and the loops run
until the supervisor goes or asks for the end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

from aiohttp import web

from certs.store import machine_roots
from control import clock
from control.actions.context import Context
from control.actions.doors import doors_of
from control.api.app import make_api
from control.api.document import VERSION
from control.apps.catalog import Catalog
from control.config import WorkerSettings
from control.domain.people import Role, password_fault
from control.runtimes.acme import AcmeAuthority
from control.runtimes.local import LocalRuntime
from control.runtimes.ports import Ports
from control.runtimes.resolver import Resolver
from control.runtimes.runtime import Runtime
from control.runtimes.supervisor import Supervisor
from control.store import audit, derive, entries, feed, people
from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from control.store.secrets import Vault, load_vault
from control.store.signin import SignIn
from control.work.acme import Acme
from control.work.certificates import LOOK_EVERY_S as CERTIFICATES_EVERY_S
from control.work.certificates import Certificates
from control.work.domains import EVERY_S as DOMAINS_EVERY_S
from control.work.domains import Domains
from control.work.feed import Feed
from control.work.gateways import Gateways
from control.work.jobs import Jobs
from control.work.launch import Launcher
from control.work.lease import WorkLease
from control.work.loop import Look, steadily
from control.work.metrics import Metrics
from control.work.probe import Probe
from control.work.pulse import Pulse
from control.work.routes import Routes
from control.work.sweep import EVERY_S as SWEEP_EVERY_S
from control.work.sweep import Sweep
from control.work.visits import Visits
from gateway.feed.served import FeedServer

log = logging.getLogger(__name__)

DRAIN_S: Final = 4.0
"""Seconds for which open requests may go on after the end was asked for."""
_BACKLOG: Final = 1024
_TOKEN_BYTES: Final = 32
_ENDS: Final = (signal.SIGTERM, signal.SIGINT)


async def run(worker: WorkerSettings, pages: Path) -> None:
    """Runs control until SIGTERM, or until the supervisor is gone. `pages` is the folder of the console's build."""
    folder = worker.settings.data_dir / "control"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    db = Database(make_engine(worker.settings.database_url))
    try:
        with end_asked_for(worker.lifeline_fd) as end:
            await upgrade(db)
            await Control(worker, db, load_vault(folder / "vault.key"), pages).run(end)
    finally:
        await db.close()


class Control:
    """The parts of one control process."""

    def __init__(self, worker: WorkerSettings, db: Database, vault: Vault, pages: Path) -> None:
        settings = worker.settings
        self._worker = worker
        self._db = db
        self._vault = vault
        self._pages = pages
        self._doors = doors_of(settings)
        self._supervisor = Supervisor(worker.run_dir)
        self._gateways = Gateways(db.hints)
        self._visits = Visits(db.hints)
        self._pulse = Pulse()
        self._metrics = Metrics(scrape_token(settings.data_dir / "control" / "metrics-token"), self._visits.__len__)
        self._sign_in = SignIn(db)
        self._resolver = Resolver([(one.address, one.port) for one in settings.name_servers] or None)
        self._roots = machine_roots()
        self._apps = Catalog(settings.data_dir / "apps", worker.run_dir)
        local = LocalRuntime(worker.run_dir, settings.data_dir, worker.job_uid_base)
        self._runtimes: dict[str, Runtime] = {local.name: local}
        self._certificates = Certificates(
            db, vault, settings.data_dir / "control" / "tls", settings.certificate_names, clock.now
        )
        # A successor of the same name takes the lease over at once, on this machine or where it moved to.
        self._lease = WorkLease(db, "work", f"{worker.name}@{socket.gethostname()}", clock.now)

    async def run(self, end: asyncio.Event) -> None:
        """Serves and works until `end`; then drains, the API before what its calls wait for."""
        await self._make_first_admin()
        await derive.derive_all(self._db, self._doors, clock.now())
        await self._certificates.look()
        sweep = Sweep(self._db, clock.now)
        async with asyncio.TaskGroup() as group:
            loops = [
                group.create_task(self._serve_feed()),
                group.create_task(self._lease.hold(self._work)),
                group.create_task(self._steadily("sweeping", sweep.look, SWEEP_EVERY_S)),
                group.create_task(
                    self._steadily("looking after certificates", self._certificates.look, CERTIFICATES_EVERY_S)
                ),
            ]
            async with self._served_api():
                await self._supervisor.ready()
                log.info("control serves")
                await end.wait()
                log.info("control drains")
            for loop in loops:
                loop.cancel()
        await self._lease.let_go()

    async def _make_first_admin(self) -> None:
        """User `admin`, when there never was anybody. Raises ValueError when the password for it is unfit."""
        password = self._worker.settings.admin_password
        async with self._db.read() as session:
            if await people.user_count(session):
                return
        if password is None or password_fault(password) is not None:
            raise ValueError(
                "STARLIGHT_ADMIN_PASSWORD holds no fit password for the first admin (8 to 1024 characters)"
            )
        password_hash = await self._sign_in.hash(password)
        now = clock.now()
        async with self._db.write() as session:
            await people.add_user(session, "admin", password_hash, Role.ADMIN, now)
            await audit.record(
                session,
                at=now,
                user_id=None,
                user_name="",
                action="user.add",
                subject="user:admin",
                address="",
                detail={"why": "first start"},
            )
        log.info("made the first user, admin")

    async def _serve_feed(self) -> None:
        async with self._db.write() as session:
            epoch = await feed.epoch(session)
        source = Feed(
            self._db,
            self._vault,
            self._gateways,
            self._sign_in,
            self._visits,
            self._metrics,
            epoch=epoch,
            now=clock.now,
        )
        with await self._supervisor.listener("feed") as listener:
            await FeedServer(listener, source).run()

    async def _work(self) -> None:
        """What only the holder of the lease does."""
        probe = Probe(self._db, self._lease, self._runtimes, clock.now)
        launcher = Launcher(self._db, self._lease, probe, self._runtimes, self._apps, clock.now)
        jobs = Jobs(self._db, launcher, probe, self._gateways, self._runtimes, self._pulse)
        routes = Routes(self._db, self._lease, self._gateways, self._supervisor, clock.now, self._pulse)
        domains = Domains(
            self._db, self._lease, self._resolver, self._vault, self._worker.settings.public_address, clock.now
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(jobs.run())
            group.create_task(routes.run())
            group.create_task(self._steadily("looking after domains", domains.look, DOMAINS_EVERY_S))
            if self._worker.settings.acme_directory:
                group.create_task(self._acme().run())

    async def _steadily(self, name: str, look: Look, every_s: float) -> None:
        await steadily(name, look, every_s=every_s, pulse=self._pulse)

    def _acme(self) -> Acme:
        settings = self._worker.settings
        authority = AcmeAuthority(
            settings.acme_directory, settings.acme_contact, settings.acme_trusted, f"starlight-gateway/{VERSION}"
        )
        return Acme(self._db, self._lease, authority, self._gateways, self._resolver, self._vault, clock.now)

    @asynccontextmanager
    async def _served_api(self) -> AsyncIterator[None]:
        """The API and the console, on the listener that gateways pass calls to."""
        listener = await self._supervisor.listener("control")
        runner = web.AppRunner(
            make_api(self._context(), pages=self._pages),
            access_log=None,
            auto_decompress=False,
            shutdown_timeout=DRAIN_S,
        )
        await runner.setup()
        try:
            await web.SockSite(runner, listener, backlog=_BACKLOG).start()
            yield
        finally:
            await runner.cleanup()
            listener.close()

    def _context(self) -> Context:
        return Context(
            db=self._db,
            now=clock.now,
            settings=self._worker.settings,
            runtimes=self._runtimes,
            ports=Ports(self._supervisor, self._doors.random_ports, self._held_ports),
            apps=self._apps,
            gateways=self._gateways,
            visits=self._visits,
            metrics=self._metrics,
            signin=self._sign_in,
            vault=self._vault,
            resolver=self._resolver,
            roots=self._roots,
            silent_loops=self._pulse.silent,
        )

    async def _held_ports(self) -> set[int]:
        async with self._db.read() as session:
            return await entries.held_ports(session)


def scrape_token(path: Path) -> str:
    """The token by which a scraper reads `/metrics`; made, mode 0600, at the first start."""
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(_TOKEN_BYTES) + "\n")
    return path.read_text().strip()


@contextmanager
def end_asked_for(lifeline_fd: int | None) -> Iterator[asyncio.Event]:
    """An event that is set at SIGTERM or SIGINT, or when the other end of the lifeline is gone."""
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()
    for number in _ENDS:
        loop.add_signal_handler(number, asked.set)
    if lifeline_fd is not None:
        # Nothing is ever written to it: it becomes readable when the supervisor has ended.
        loop.add_reader(lifeline_fd, asked.set)
    try:
        yield asked
    finally:
        for number in _ENDS:
            loop.remove_signal_handler(number)
        if lifeline_fd is not None:
            loop.remove_reader(lifeline_fd)
