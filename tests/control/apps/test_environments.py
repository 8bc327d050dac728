"""App environments built for real, from a package that the test makes itself."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from control.apps.environments import Environments


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file for one wheel with one script, which pip finds without any index."""
    folder = tmp_path / "locks"
    folder.mkdir()
    wheel = folder / "hello_app-1.0-py3-none-any.whl"
    info = "hello_app-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("hello_app.py", "def main(): print('hello')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hello-app\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nhello = hello_app:main\n")
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (folder / "hello.lock").write_text(f"hello-app==1.0 \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def apps(tmp_path: Path) -> Path:
    """The directory of all environments."""
    (tmp_path / "apps").mkdir()
    return tmp_path / "apps"


def run(program: Path) -> bytes:
    """What a program prints."""
    return subprocess.run([program], capture_output=True, check=True).stdout


def told(apps: Path) -> dict[str, object]:
    """The progress that everyone may read."""
    plain: dict[str, object] = json.loads((apps / "hello.progress.json").read_bytes())
    return plain


async def test_it_is_built_aside_and_works_where_it_lies(apps: Path, locks: Path) -> None:
    """Scripts name the final place; nothing else is left; progress says it is ready."""
    environments = Environments(apps, locks)
    assert environments.missing([apps / "hello"]) == ["hello"]
    await asyncio.gather(environments.build("hello"), environments.build("hello"))
    assert environments.missing([apps / "hello"]) == []
    assert run(apps / "hello/bin/hello") == b"hello\n"
    assert sorted(path.name for path in apps.iterdir()) == ["hello", "hello.progress.json"]
    assert told(apps) == {"state": "ready", "done": 1, "total": 1, "message": ""}
    assert (apps / "hello").stat().st_mode & 0o777 == 0o755


async def test_a_wheel_with_another_hash_is_refused(apps: Path, locks: Path) -> None:
    """Nothing is put in place, nothing is left, and the reason is told."""
    (locks / "hello.lock").write_text(f"hello-app==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(OSError, match=r"(?i)hash"):
        await Environments(apps, locks).build("hello")
    assert [path.name for path in apps.iterdir()] == ["hello.progress.json"]
    assert told(apps)["state"] == "failed"


async def test_an_interrupted_build_is_mended_by_the_next(apps: Path, locks: Path) -> None:
    """Half a directory never bears the final name, and does not stay."""
    (apps / ".hello.12345678/bin").mkdir(parents=True)
    (apps / "hello.progress.json").write_text('{"state": "building", "done": 0, "total": 1}')
    environments = Environments(apps, locks)
    environments.forget_interrupted()
    assert not (apps / "hello.progress.json").exists()
    await environments.build("hello")
    assert sorted(path.name for path in apps.iterdir()) == ["hello", "hello.progress.json"]


async def test_another_lock_file_makes_another_environment(apps: Path, locks: Path) -> None:
    """Jobs that run in the older one keep it until the next build."""
    environments = Environments(apps, locks)
    await environments.build("hello")
    with (locks / "hello.lock").open("a") as lock:
        lock.write("# changed\n")
    assert environments.missing([apps / "hello"]) == ["hello"]
    await environments.build("hello")
    assert len(list(apps.glob(".hello.old-*"))) == 1
    assert environments.missing([apps / "hello"]) == []


async def test_a_cancelled_build_leaves_nothing(apps: Path, locks: Path) -> None:
    """The installer ends with it."""
    environments = Environments(apps, locks)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await environments.build("hello")
    assert [path.name for path in apps.iterdir()] == ["hello.progress.json"]


def test_only_what_has_a_lock_file_can_be_built(apps: Path, locks: Path) -> None:
    """A name comes from outside and becomes a path."""
    environments = Environments(apps, locks)
    assert environments.knows("hello")
    assert not any(environments.knows(name) for name in ("", "nothing", "../locks/hello", "a/b"))
    assert environments.missing([apps / "nothing", Path("/etc")]) == []


def test_progress_is_one_sentence(apps: Path, locks: Path) -> None:
    """Before and during the build."""
    environments = Environments(apps, locks)
    assert environments.progress("hello") == "hello is about to be installed"
    (apps / "hello.progress.json").write_text('{"state": "building", "done": 3, "total": 9}')
    assert environments.progress("hello") == "hello is being installed: 3 of 9 packages"
