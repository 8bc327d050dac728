"""Which folders hide program and data from other uids."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.supervisor.passage import Passage, plan, program_trees, unreadable


@pytest.fixture
def open_root() -> Iterator[Path]:
    """A folder that others may traverse all the way down to; pytest's own lie below a closed one."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_nothing_is_hidden_where_everybody_may_pass(open_root: Path) -> None:
    """No namespace is made without need."""
    (open_root / "data").mkdir()
    assert plan([open_root / "data"]) == Passage((), ())


def test_the_outermost_closed_folder_is_replaced_once(open_root: Path) -> None:
    """Closed within closed is one replacement; a tree within a tree is bound with it."""
    inner = open_root / "root" / "private" / "checkout"
    (inner / "control").mkdir(parents=True)
    (open_root / "root").chmod(0o700)
    (open_root / "root" / "private").chmod(0o700)
    passage = plan([inner / "control", inner, open_root])
    assert passage == Passage((), ())  # open_root itself covers what lies in it
    passage = plan([inner / "control", inner])
    assert passage == Passage((str(open_root / "root"),), (str(inner),))


def test_the_program_is_readable_here() -> None:
    """The houses, the environment and the interpreter exist; set-up made them readable."""
    trees = program_trees()
    assert all(tree.is_dir() for tree in trees)
    assert {"control", "gateway", "certs"} <= {tree.name for tree in trees}


def test_a_closed_tree_is_named(open_root: Path) -> None:
    """A passage does not help where the tree itself is closed to others."""
    closed, readable = open_root / "closed", open_root / "readable"
    closed.mkdir(mode=0o700)
    readable.mkdir(mode=0o755)
    assert unreadable([closed, readable]) == [closed]
