"""A real database of each kind for tests that need one: a SQLite file, and a throw-away PostgreSQL cluster.

The cluster is made once a test session, on a Unix socket in its own directory, by a user who is not root.
Where PostgreSQL is not installed its half of the tests fails with that sentence: `make test` installs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from control.store.engine import Database, make_engine
from control.store.migrate import upgrade

DATABASES = ("sqlite", "postgresql")


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
    name = f"t{uuid.uuid4().hex}"
    admin = await asyncpg.connect(host=str(folder), user="starlight", database="postgres")
    try:
        await admin.execute(f"CREATE DATABASE {name}")
        yield f"postgresql://starlight@/{name}?host={folder}"
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """A database with this version's tables, once of each kind."""
    made = Database(make_engine(database_url))
    await upgrade(made)
    yield made
    await made.close()


