"""A file of sealed frames: it grows, and is read as far as it is whole and in order."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.feed.sealed import SealedFile

KEY = bytes(range(32))
HEAD = b"a head\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file lies."""
    return tmp_path / "folder" / "file"


def made(path: Path, *frames: bytes) -> SealedFile:
    """A file of these frames."""
    file = SealedFile(path, KEY, HEAD)
    file.begin()
    for frame in frames:
        file.add(frame)
    file.finish()
    return file


def parts(path: Path) -> list[bytes]:
    """The frames as they lie there, each with its length."""
    sealed, found = path.read_bytes()[len(HEAD) + 16 :], []
    while sealed:
        length = 4 + int.from_bytes(sealed[:4], "big")
        found.append(sealed[:length])
        sealed = sealed[length:]
    return found


def test_frames_are_read_in_order(path: Path) -> None:
    """Those that it was made of, then those by which it grew; empty ones, too."""
    file = made(path, b"one", b"")
    file.grow(b"three")
    assert list(file.read()) == [b"one", b"", b"three"]
    assert list(SealedFile(path, KEY, HEAD).read()) == [b"one", b"", b"three"]


def test_until_it_is_finished_the_older_one_stands(path: Path) -> None:
    """Then the new one does, and grows."""
    file = made(path, b"old")
    file.begin()
    file.add(b"new")
    assert list(file.read()) == [b"old"]
    file.finish()
    file.grow(b"er")
    assert list(file.read()) == [b"new", b"er"]


@pytest.mark.parametrize("cut", range(1, 70, 7))
def test_a_torn_end_is_left_out(path: Path, cut: int) -> None:
    """Wherever it was torn."""
    made(path, b"one", b"two")
    os.truncate(path, path.stat().st_size - cut)
    assert list(SealedFile(path, KEY, HEAD).read()) == [b"one", b"two"][: 1 if cut <= 4 + 12 + 3 + 16 else 0]


def test_frames_cannot_be_moved(path: Path) -> None:
    """Not to another place, not out, and not into another file."""
    made(path, b"one", b"two", b"three")
    start, (one, two, three) = path.read_bytes()[: len(HEAD) + 16], parts(path)
    for order, left in (((two, one, three), 0), ((one, three), 1), ((one, one), 1), ((two,), 0), ((one, two), 2)):
        path.write_bytes(start + b"".join(order))
        assert len(list(SealedFile(path, KEY, HEAD).read())) == left
    made(path, b"another")
    path.write_bytes(path.read_bytes()[: len(HEAD) + 16] + one)
    assert list(SealedFile(path, KEY, HEAD).read()) == []


def test_another_head_is_refused(path: Path) -> None:
    """Another version, or no file of ours."""
    made(path, b"one")
    with pytest.raises(ValueError, match="version"):
        list(SealedFile(path, KEY, b"b head\n").read())


def test_a_file_that_is_gone_does_not_grow(path: Path) -> None:
    """A frame without those before it would be read by nobody."""
    file = made(path, b"one")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        file.grow(b"two")
    assert not path.exists()
