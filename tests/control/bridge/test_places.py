"""The bridge's directories."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from control.bridge.places import Places


def test_directories_are_made_with_their_modes(tmp_path: Path) -> None:
    """Jobs' records are the bridge's alone; homes are passed through; apps are read by all."""
    places = Places(tmp_path)
    places.prepare()
    places.prepare()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (places.jobs.parent, places.homes, places.apps)}
    assert modes == {"bridge": 0o700, "homes": 0o711, "apps": 0o755}
    assert places.known() == []


@pytest.mark.parametrize("job", ["", ".", "..", "a/b", "../x", "UPPER", "a" * 64, "-a", "a\n", "a.b"])
def test_what_cannot_be_an_id_is_no_path(tmp_path: Path, job: str) -> None:
    """An id comes from outside and becomes a directory's name."""
    with pytest.raises(ValueError, match="not the id of a job"):
        Places(tmp_path).job(job)


def test_known_jobs_are_those_with_a_directory(tmp_path: Path) -> None:
    """Whatever else lies there is no job."""
    places = Places(tmp_path)
    places.prepare()
    for name in ("job-2", "job-1", ".hidden", "NotAJob"):
        (places.jobs / name).mkdir()
    assert places.known() == ["job-1", "job-2"]


def test_a_home_is_named_by_its_person(tmp_path: Path) -> None:
    """And by nothing that could lead elsewhere."""
    places = Places(tmp_path)
    assert places.person("home:alice@local") == "alice"
    for subject in ("home:alice", "home:alice@other", "home:../etc@local", "alice", "home:alice@local\n"):
        with pytest.raises(ValueError, match="not a home"):
            places.person(subject)
