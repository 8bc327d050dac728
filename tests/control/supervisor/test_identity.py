"""Who runs as whom, by the machine's uid map."""

from __future__ import annotations

from pathlib import Path

import pytest

from control.supervisor.identity import Identities, identities


def maps(tmp_path: Path, text: str) -> tuple[Path, ...]:
    """A uid map file with that text."""
    file = tmp_path / "uid_map"
    file.write_text(text)
    return (file,)


@pytest.mark.parametrize(
    ("uid_map", "wanted", "expected"),
    [
        ("0 0 4294967295\n", None, Identities(700000001, 700000002, 700001000)),
        ("0 0 4294967295\n", 200000, Identities(200001, 200002, 201000)),
        ("0 100000 65536\n", None, Identities(60001, 60002, 61000)),
        ("0 1000 1\n1 100000 65536\n", None, Identities(60001, 60002, 61000)),
        ("0 1000 1\n", None, Identities(0, 0, None)),
    ],
)
def test_root_gets_uids_that_the_map_holds(
    tmp_path: Path, uid_map: str, wanted: int | None, expected: Identities
) -> None:
    """The whole machine, a container of 65536 ids, a root that owns nothing else: each its own answer."""
    assert identities(wanted, euid=0, maps=maps(tmp_path, uid_map)) == expected


@pytest.mark.parametrize("wanted", [64_000, 10])
def test_a_wanted_base_that_is_not_there_is_refused(tmp_path: Path, wanted: int) -> None:
    """It is refused rather than replaced: someone chose it for a reason."""
    with pytest.raises(ValueError, match="STARLIGHT_UID_BASE"):
        identities(wanted, euid=0, maps=maps(tmp_path, "0 100000 65536\n"))


def test_a_normal_user_is_everybody() -> None:
    """Without root all processes and jobs share the starter's uid."""
    who = identities(None, euid=1000)
    assert who == Identities(1000, 1000, None)
    assert not who.separate


def test_without_own_uids_nothing_is_given_away(tmp_path: Path) -> None:
    """A normal user's files stay as they are made."""
    file = tmp_path / "file"
    file.touch(mode=0o600)
    who = identities(None, euid=1000)
    who.give(file, 1)
    who.share(file)
    assert file.stat().st_mode & 0o777 == 0o600
