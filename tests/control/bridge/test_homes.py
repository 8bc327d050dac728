"""Homes and work directories, whatever has been planted in the home."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from control.bridge.homes import make_home, read_keys

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


def with_keys(homes: Path, content: bytes = b"ssh-ed25519 AAAA\n") -> Path:
    """Alice's home with an authorized_keys; the file."""
    home = homes / "alice"
    make_home(homes, home, home / ".ssh", UID)
    file = home / ".ssh" / "authorized_keys"
    file.write_bytes(content)
    for path in (home / ".ssh", file):
        os.chown(path, OWNER, OWNER)
    (home / ".ssh").chmod(0o700)
    file.chmod(0o600)
    return file


def test_keys_are_read_as_the_person(homes: Path) -> None:
    """Their bytes, and who reads is root again afterwards."""
    with_keys(homes)
    assert read_keys(homes, "alice", 64) == b"ssh-ed25519 AAAA\n"
    assert os.geteuid() == (0 if UID else OWNER)


def test_no_home_no_directory_and_no_file_are_one(homes: Path) -> None:
    """There are no keys."""
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            read_keys(homes, "alice", 64)
        if (homes / "alice" / ".ssh").exists():
            return
        make_home(homes, homes / "alice", homes / "alice" / ".ssh", UID)


def test_a_file_over_the_limit_is_refused(homes: Path) -> None:
    """Whole, not cut."""
    with_keys(homes, b"x" * 64)
    assert read_keys(homes, "alice", 64) == b"x" * 64
    with pytest.raises(OSError, match="too large"):
        read_keys(homes, "alice", 63)


@pytest.mark.parametrize("loose", ["", ".ssh", ".ssh/authorized_keys"])
@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_what_others_may_write_admits_nobody(homes: Path, loose: str, mode: int) -> None:
    """As sshd with StrictModes: the home, the directory or the file."""
    with_keys(homes)
    (homes / "alice" / loose).chmod(mode)
    with pytest.raises(PermissionError):
        read_keys(homes, "alice", 64)


def test_links_lead_nowhere(homes: Path, tmp_path: Path) -> None:
    """Neither the file nor its directory nor the home may be one."""
    file = with_keys(homes)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"):
        read_keys(homes, "alice", 64)
    (homes / "alice" / ".ssh").rename(tmp_path / "ssh")
    (homes / "alice" / ".ssh").symlink_to(tmp_path / "ssh")
    with pytest.raises(NotADirectoryError):
        read_keys(homes, "alice", 64)
    (homes / "bob").symlink_to(homes / "alice")
    with pytest.raises(NotADirectoryError):
        read_keys(homes, "bob", 64)


def test_a_pipe_or_anothers_file_is_none(homes: Path) -> None:
    """Nobody waits for a pipe to be written, and a file that belongs to somebody else counts for nobody."""
    file = with_keys(homes)
    if UID:
        os.chown(file, UID + 1, UID + 1)
        file.chmod(0o644)
        with pytest.raises(PermissionError):
            read_keys(homes, "alice", 64)
    file.unlink()
    os.mkfifo(file, 0o600)
    os.chown(file, OWNER, OWNER)
    with pytest.raises(PermissionError):
        read_keys(homes, "alice", 64)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could be led astray")
def test_a_home_of_roots_is_nobodys(homes: Path) -> None:
    """Root's rights are never what makes the reading succeed."""
    (homes / "root" / ".ssh").mkdir(parents=True)
    (homes / "root" / ".ssh" / "authorized_keys").write_text("x")
    with pytest.raises(PermissionError):
        read_keys(homes, "root", 64)
