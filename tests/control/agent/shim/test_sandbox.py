"""The bubblewrap command line: what is masked, and what comes back after it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from control.agent.shim.sandbox import AGENT_INSIDE, inner_command, outermost, sandbox_command, write_etc
from control.agent.shim.spec import Spec, read_spec
from tests.control.agent.shim.test_spec import PLAIN, written


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    """A job whose home lies below a masked data directory, itself below a masked /root."""
    data = tmp_path / "root/data"
    (data / "homes/alice").mkdir(parents=True)
    masks = [str(tmp_path / "root"), str(data), str(tmp_path / "absent")]
    plain = PLAIN | {"home": str(data / "homes/alice"), "readonly": [str(data / "apps/x")]}
    return read_spec(written(tmp_path, plain | {"sandbox": PLAIN["sandbox"] | {"masks": masks}}))


def test_only_the_outermost_existing_masks_are_mounted(tmp_path: Path) -> None:
    """A mask below a mask would only tell that something lies there."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    masks = tuple(str(tmp_path / name) for name in ("a/b", "a", "link", "absent"))
    assert outermost(masks) == [str(tmp_path / "a")]


def test_what_is_the_jobs_own_comes_back_after_the_masks(spec: Spec, tmp_path: Path) -> None:
    """Order is everything: a bind before its mask would be hidden, a mask after a bind as well."""
    words = sandbox_command(spec, tmp_path / "etc", ["inner"], as_root=True)
    masks = [number for number, word in enumerate(words) if word == "--tmpfs"]
    binds = [number for number, word in enumerate(words) if word in ("--bind", "--ro-bind")]
    assert binds[0] < masks[0]  # the machine's files
    assert max(masks) < min(binds[1:])
    assert words[words.index("--bind") : words.index("--bind") + 3] == ["--bind", str(spec.home), str(spec.home)]
    assert words[-2:] == ["--", "inner"]


def test_the_way_to_the_home_can_be_walked(spec: Spec, tmp_path: Path) -> None:
    """Directories between a mask and the home are made open: bwrap would close them to all but root."""
    words = sandbox_command(spec, tmp_path / "etc", ["inner"], as_root=True)
    made = [words[number + 1] for number, word in enumerate(words) if word == "--dir"]
    data = tmp_path / "root/data"
    assert [str(data), str(data / "homes")] == made[:2]
    assert all(words[words.index(path) - 2] == "0755" for path in made if path.startswith(str(data)))


def test_root_keeps_only_what_it_needs_to_give_everything_up(spec: Spec, tmp_path: Path) -> None:
    """Three capabilities, for setpriv, which is the next program in the same process."""
    words = sandbox_command(spec, tmp_path / "etc", inner_command(spec, 7, as_root=True), as_root=True)
    kept = {words[number + 1] for number, word in enumerate(words) if word == "--cap-add"}
    assert kept == {"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"}
    inner = words[words.index("--") + 1 :]
    assert inner[0] == "setpriv"
    assert {"--no-new-privs", "--bounding-set=-all", "--clear-groups"} <= set(inner)
    assert inner[inner.index("--reuid") + 1] == inner[inner.index("--regid") + 1] == "1001"


def test_a_user_gets_namespaces_and_no_capability(spec: Spec, tmp_path: Path) -> None:
    """Without root a user namespace does it."""
    words = sandbox_command(spec, tmp_path / "etc", inner_command(spec, 7, as_root=False), as_root=False)
    assert "--unshare-user" in words
    assert "--cap-add" not in words
    assert "--reuid" not in words


def test_without_a_sandbox_the_agent_is_where_it_is(spec: Spec) -> None:
    """Inside a sandbox it has its own place, since the checkout is masked."""
    bare = replace(spec, sandbox=replace(spec.sandbox, isolation="none"))
    assert AGENT_INSIDE in inner_command(spec, 7, as_root=True)
    assert Path(inner_command(bare, 7, as_root=True)[-3], "inner").is_dir()


def test_the_person_is_known_inside(spec: Spec, tmp_path: Path) -> None:
    """Name, number and home; whoever else had the name or the number makes room."""
    write_etc(replace(spec, owner="root"), tmp_path / "etc", os.getuid(), os.getgid())
    lines = (tmp_path / "etc/passwd").read_text().splitlines()
    assert lines[0].startswith(f"root:x:{os.getuid()}:{os.getgid()}:root:{spec.home}:")
    assert [line for line in lines if line.split(":")[0] == "root"] == lines[:1]
    assert "127.0.0.1 localhost job-1" in (tmp_path / "etc/hosts").read_text()
    assert (tmp_path / "etc/passwd").stat().st_mode & 0o777 == 0o644
