"""The set-up behind `make start` and `make test`: what it finds, when it does nothing, how it mends."""

from __future__ import annotations

import ast
import importlib.util
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.house.files import ROOT

SCRIPTS = ROOT / "scripts" / "set_up"


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set-up's folder is on the path, as when it runs."""
    monkeypatch.syspath_prepend(str(SCRIPTS))


def part(name: str) -> ModuleType:
    """One file of the set-up."""
    return importlib.import_module(name)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with nothing in it but what the fingerprint looks at."""
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    return tmp_path


def test_the_environment_is_filled_once_and_again_when_its_lock_changes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call does nothing; another lock file, or another interpreter, fills it anew."""
    environment = part("environment")
    monkeypatch.setattr(environment, "make", Path.mkdir)
    monkeypatch.setattr(environment, "works", Path.exists)
    installed: list[tuple[str, ...]] = []
    monkeypatch.setattr(environment, "install", lambda _venv, *words: installed.append(words))
    environment.ensure(checkout, "start")
    assert len(installed) == 2
    environment.ensure(checkout, "start")
    assert len(installed) == 2
    (checkout / "requirements.lock").write_text("another==1\n")
    environment.ensure(checkout, "start")
    assert len(installed) == 4
    environment.ensure(checkout, "test")
    (checkout / ".venv" / ".starlight-start").unlink()
    environment.ensure(checkout, "start")
    assert len(installed) == 6  # what the tests need holds what a start needs
    assert not (checkout / ".venv" / environment.UNDER_WAY).exists()


def test_tool_settings_do_not_fill_the_environment_again(checkout: Path) -> None:
    """Only the project's own metadata counts, not a linter's rule in the same file."""
    environment = part("environment")
    before = environment.fingerprint(checkout, "start")
    with (checkout / "pyproject.toml").open("a") as file:
        file.write('\n[tool.other]\nrule = "new"\n')
    assert environment.fingerprint(checkout, "start") == before


def test_an_interrupted_set_up_is_mended(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip fails half-way: the next call makes the environment anew instead of trusting what lies there."""
    environment = part("environment")
    monkeypatch.setattr(environment, "make", Path.mkdir)
    monkeypatch.setattr(environment, "works", Path.exists)

    def fail(_venv: Path, *_words: str) -> None:
        (checkout / ".venv" / "half").touch()
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(environment, "install", fail)
    with pytest.raises(subprocess.CalledProcessError):
        environment.ensure(checkout, "start")
    monkeypatch.setattr(environment, "install", lambda _venv, *_words: None)
    environment.ensure(checkout, "start")
    assert (checkout / ".venv").exists()
    assert not (checkout / ".venv" / "half").exists()


@pytest.mark.slow
def test_a_broken_interpreter_is_replaced(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python that .venv was made from was upgraded away."""
    environment = part("environment")
    monkeypatch.setattr(environment, "install", lambda _venv, *_words: None)
    environment.ensure(checkout, "start")
    python = checkout / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/nonexistent/python3")
    (checkout / ".venv" / ".starlight-start").unlink()
    environment.ensure(checkout, "start")
    assert environment.works(checkout / ".venv")


def test_an_environment_aside_is_filled_once_and_anew_when_a_lock_changes(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outside judges' packages lie beside those of the tests, from locks of their own."""
    environment = part("environment")
    monkeypatch.setattr(environment, "make", lambda venv: venv.mkdir(parents=True))
    monkeypatch.setattr(environment, "works", Path.exists)
    installed: list[tuple[str, ...]] = []
    monkeypatch.setattr(environment, "install", lambda _venv, *words: installed.append(words))
    locks = ("requirements.lock", "requirements-dev.lock")
    for _ in range(2):
        assert environment.ensure_aside(checkout, "judges", *locks) == checkout / ".build" / "judges"
    assert installed == [("--require-hashes", *(word for lock in locks for word in ("-r", str(checkout / lock))))]
    (checkout / "requirements-dev.lock").write_text("another==1\n")
    environment.ensure_aside(checkout, "judges", *locks)
    assert len(installed) == 2


def test_missing_packages_are_found_by_what_they_bring(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program on the path, or a file of that pattern; the package's own record is not asked."""
    debian = part("debian")
    wanted = {"shell": "sh", "hosts": "/etc/host?", "nothing": "no-such-program", "nowhere": "/no/such/*"}
    monkeypatch.setitem(debian.WANTED, "start", wanted)
    assert debian.missing_packages("start") == ["nothing", "nowhere"]


@pytest.mark.parametrize("purpose", ["start", "test", "judges"])
def test_a_normal_user_is_told_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], purpose: str
) -> None:
    """The start goes on without; the tests, which use everything for real, do not."""
    debian = part("debian")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(debian, "missing_packages", lambda _purpose: ["bubblewrap", "passt"])
    line = "sudo apt-get install bubblewrap passt"
    if purpose == "start":
        debian.ensure(purpose)
        assert line in capsys.readouterr().err
    else:
        with pytest.raises(debian.MissingError, match=line):
            debian.ensure(purpose)


def test_the_console_is_built_again_when_a_source_changed(tmp_path: Path) -> None:
    """Sources count, and what is installed, built or a test does not."""
    console = part("console")
    for name in ("src/App.vue", "index.html", "node_modules/x.js", "dist/index.html", "tests/app.test.ts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    before = console.digest(console.sources(tmp_path))
    for name in ("node_modules/x.js", "dist/index.html", "tests/app.test.ts"):
        (tmp_path / name).write_text("two")
    assert console.digest(console.sources(tmp_path)) == before
    (tmp_path / "src/App.vue").write_text("two")
    assert console.digest(console.sources(tmp_path)) != before


@pytest.mark.parametrize(("told", "version"), [("v20.19.1", (20, 19)), ("v9.0.0", (9, 0)), ("", (0,))])
def test_node_s_version_is_read(tmp_path: Path, told: str, version: tuple[int, ...]) -> None:
    """A node that is too old, or does not run, is not used."""
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho {told}\n")
    node.chmod(0o755)
    assert part("console").version_of(str(node)) == version


def test_houses_cloned_under_a_private_umask_become_readable(tmp_path: Path) -> None:
    """The workers' uids read the program; what is no program, and what is not to be executed, stays."""
    main = load_main()
    file = tmp_path / "control" / "app.py"
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o600)
    main.open_to_others(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o755


def load_main() -> ModuleType:
    """The set-up's entry, under a name of its own."""
    spec = importlib.util.spec_from_file_location("set_up_main", SCRIPTS / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_python_that_fits_the_person_is_told_what_to_install() -> None:
    """One apt line, and how to name another interpreter."""
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "set-up.sh", "start"],
        env={"PATH": os.environ["PATH"], "PYTHON": "/bin/false"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "apt-get install git make python3 python3-venv" in done.stderr
    assert "PYTHON=" in done.stderr


def test_the_set_up_needs_nothing_but_the_standard_library() -> None:
    """It runs before anything is installed."""
    ours = {file.stem for file in SCRIPTS.glob("*.py")}
    for file in SCRIPTS.glob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
        imported |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        foreign = {name.partition(".")[0] for name in imported} - ours - sys.stdlib_module_names
        assert not foreign, file
