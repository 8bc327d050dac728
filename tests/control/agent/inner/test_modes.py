"""Terminal modes by RFC 4254 opcodes."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator

import pytest

from control.agent.inner.modes import apply_modes


@pytest.fixture
def terminal() -> Iterator[int]:
    """The slave side of a fresh terminal."""
    master, slave = os.openpty()
    yield slave
    os.close(master)
    os.close(slave)


def test_characters_and_flags_are_set(terminal: int) -> None:
    """VINTR (1) becomes ^G, ECHO (53) goes off, IXANY (39) comes on, and ISIG stays as it was."""
    apply_modes(terminal, {"1": 7, "53": 0, "39": 1})
    attributes = termios.tcgetattr(terminal)
    assert attributes[6][termios.VINTR] == b"\x07"
    assert not attributes[3] & termios.ECHO
    assert attributes[0] & termios.IXANY
    assert attributes[3] & termios.ISIG


def test_255_is_no_character(terminal: int) -> None:
    """RFC 4254, section 8: 255 is used when the special character is absent."""
    apply_modes(terminal, {"1": 255})
    assert termios.tcgetattr(terminal)[6][termios.VINTR] == b"\x00"


@pytest.mark.parametrize("modes", [{"0": 1}, {"999": 1}, {"x": 1}, {"1": "seven"}, {"1": 300}, {"129": 38400}])
def test_what_is_not_known_is_skipped(terminal: int, modes: dict[str, object]) -> None:
    """A client of another system may name what this one does not have."""
    before = termios.tcgetattr(terminal)
    apply_modes(terminal, modes)
    assert termios.tcgetattr(terminal) == before
