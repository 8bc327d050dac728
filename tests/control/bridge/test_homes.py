"""Homes and work directories, whatever has been planted in the home."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.bridge.homes import make_home

UID = 700001001 if os.geteuid() == 0 else None
OWNER = UID or os.getuid()


@pytest.fixture
def homes() -> Iterator[Path]:
    """The directory of all homes."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "homes")
        path.mkdir(mode=0o711)
        path.parent.chmod(0o700)
        yield path


def work_in(home: Path) -> Path:
    """A job's work directory."""
    return home / "jobs" / "job-1"


def test_everything_is_the_persons_and_nobody_elses(homes: Path) -> None:
    """Mode 0700 and the person's uid, from the home down, even below a directory that they may not enter."""
    home = homes / "alice"
    make_home(homes, home, work_in(home), UID)
    for path in (home, home / "jobs", work_in(home)):
        assert (path.stat().st_uid, stat.S_IMODE(path.stat().st_mode)) == (OWNER, 0o700)
    assert os.geteuid() == (0 if UID else OWNER)


def test_a_second_time_is_no_fault(homes: Path) -> None:
    """What is there stays as it is, contents and mode."""
    home = homes / "alice"
    make_home(homes, home, work_in(home), UID)
    (home / "file").write_text("kept")
    home.chmod(0o755)
    make_home(homes, home, work_in(home), UID)
    assert (home / "file").read_text() == "kept"
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


@pytest.mark.parametrize("planted", ["jobs", "jobs/job-1"])
def test_a_planted_link_is_not_followed(homes: Path, tmp_path: Path, planted: str) -> None:
    """Nothing is made where it points to."""
    home = homes / "alice"
    make_home(homes, home, home, UID)
    (home / planted).parent.mkdir(exist_ok=True)
    if UID:
        os.chown((home / planted).parent, UID, UID)
    (home / planted).symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        make_home(homes, home, work_in(home), UID)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(UID is None, reason="without root everything has one owner")
def test_another_persons_home_is_refused(homes: Path) -> None:
    """A name that was given to another uid, or a directory of root's, is not taken over."""
    make_home(homes, homes / "alice", homes / "alice", UID)
    with pytest.raises(PermissionError, match="belongs to uid"):
        make_home(homes, homes / "alice", work_in(homes / "alice"), OWNER + 1)


@pytest.mark.parametrize(
    ("home", "work_dir"),
    [("..", "../jobs"), ("a/b", "a/b/jobs"), ("alice", "bob/jobs"), ("alice", "alice/../bob"), (".", "jobs")],
)
def test_places_outside_are_refused(homes: Path, home: str, work_dir: str) -> None:
    """A home lies right below the homes, a work directory below its home."""
    with pytest.raises(ValueError, match=r"home|below|subpath"):
        make_home(homes, homes / home, homes / work_dir, UID)
