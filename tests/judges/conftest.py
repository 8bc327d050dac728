"""One product for all judges of a session, and the outside programs that its jobs run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.product import Person, Product, eventually

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".build" / "judges"
APPS = Path(__file__).parent / "apps"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them are slow: `make test-all` runs them, once it has made what they need."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The platform, started as a person starts it; its jobs end with it."""
    instance = Product(tmp_path_factory.mktemp("judges") / "var")
    instance.start()
    yield instance
    instance.stop()


@pytest.fixture(scope="session")
def alice(product: Product) -> Person:
    return product.person("alice")


@pytest.fixture(scope="session")
def judges_python() -> Path:
    """The interpreter of the environment that holds the judges."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        pytest.fail("the judges are not installed; `make test-all` installs them, or: make set-up-judges")
    return python


@pytest.fixture(scope="session")
def programs(product: Product, alice: Person, judges_python: Path) -> Path:
    """A copy, by links where that can be, of the environment and the apps in Alice's home: jobs see no checkout."""
    ended = alice.submit(["true"])
    alice.wait(ended["id"], "finished")
    home = product.data / "homes" / alice.name
    shutil.copytree(ENVIRONMENT, home / "judges", symlinks=True, copy_function=link)
    shutil.copytree(APPS, home / "apps")
    return home


def link(source: str, target: str) -> None:
    """A hard link, or a copy where the file system has none."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def listening(alice: Person, job_id: str, word: bytes, *, within_s: float = 120.0) -> None:
    """Waits until the job said that it serves."""
    eventually(lambda: word in alice.logs(job_id), within_s=within_s, what=f"{job_id} saying {word!r}")
