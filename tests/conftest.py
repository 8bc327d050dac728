"""What tests of several folders share: a real database of each kind, and one real browser.

The databases are a SQLite file, and a throw-away PostgreSQL cluster.

The cluster is made once a test session, on a Unix socket in its own directory, by a user who is not root.
Where PostgreSQL is not installed its half of the tests fails with that sentence: `make test` installs it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from playwright.sync_api import Browser, sync_playwright

from control.store.engine import Database, make_engine
from control.store.migrate import upgrade
from tests.console.page import CHROMIUM, FLAGS

DATABASES = ("sqlite", "postgresql")
_TEMPLATE = "starlight_template"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop of its own running, beside which no other may run."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The one browser of a session; each test opens contexts of its own in it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def postgresql_socket() -> Iterator[Path]:
    """The directory of the socket of a running throw-away PostgreSQL cluster."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.fail("PostgreSQL is not installed; `make test` installs it, or: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="starlight-pg-"))
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(folder, user)
    folder.chmod(0o755)

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs[-1] / program, "-D", folder / "data", *arguments],
            check=True,
            capture_output=True,
            timeout=60,
            cwd=folder,
            user=user,
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(folder)},
        )

    run("initdb", "-U", "starlight", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c max_connections=200"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield folder
    finally:
        run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=DATABASES)
async def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/starlight.db"
        return
    folder: Path = request.getfixturevalue("postgresql_socket")
    async with _created(folder, "template1") as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with this version's tables, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "starlight.db"
    _run_aside(_migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgresql_template(postgresql_socket: Path) -> str:
    """The name of a PostgreSQL database with this version's tables, to be copied."""
    _run_aside(_make_template(postgresql_socket))
    return _TEMPLATE


@pytest.fixture(params=DATABASES)
async def migrated_url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """The URL of a database with this version's tables, once of each kind."""
    if request.param == "sqlite":
        path = tmp_path / "starlight.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    template: str = request.getfixturevalue("postgresql_template")
    folder: Path = request.getfixturevalue("postgresql_socket")
    async with _created(folder, template) as url:
        yield url


@pytest.fixture
async def db(migrated_url: str) -> AsyncIterator[Database]:
    """A database with this version's tables, once of each kind."""
    async with _opened(migrated_url) as made:
        yield made


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    made = Database(make_engine(url))
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def _created(folder: Path, template: str) -> AsyncIterator[str]:
    name = f"t{uuid.uuid4().hex}"
    admin = await asyncpg.connect(host=str(folder), user="starlight", database="postgres")
    try:
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        yield f"postgresql://starlight@/{name}?host={folder}"
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


async def _make_template(folder: Path) -> None:
    admin = await asyncpg.connect(host=str(folder), user="starlight", database="postgres")
    await admin.execute(f"CREATE DATABASE {_TEMPLATE}")
    await admin.close()
    await _migrate(f"postgresql://starlight@/{_TEMPLATE}?host={folder}")


async def _migrate(url: str) -> None:
    async with _opened(url) as made:
        await upgrade(made)


def _run_aside(work: Coroutine[Any, Any, None]) -> None:
    """In a thread: the first test that wants a template already runs in a loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()
