"""Keys: what terminals send, in one piece or byte by byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core.menu_keys import Key, Keys


def pressed(*packets: bytes) -> list[Key | str]:
    """The keys of some packets, each followed by a pause as the session makes it."""
    keys, presses = Keys(), []
    for packet in packets:
        presses += [keys.take(byte) for byte in packet]
        presses.append(keys.pause())
    return [press for press in presses if press is not None]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"1\r", ["1", Key.ENTER]),
        (b"1\n", ["1", Key.ENTER]),
        (b"1\r\n2\r\n", ["1", Key.ENTER, "2", Key.ENTER]),
        (b"\r\r\n\n", [Key.ENTER, Key.ENTER, Key.ENTER]),
        (b"\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        (b"\x1bOA\x1bOB", [Key.UP, Key.DOWN]),
        (b"\x1b[1;5C\x1b[3~x", ["x"]),
        (b"\x1bxy", ["y"]),
        (b"\x1b", [Key.CANCEL]),
        (b"\x1b\x1b[A", [Key.UP]),
        (b"\x03\x04", [Key.LEAVE, Key.LEAVE]),
        (b"a\x7fb\x08\x15\x0c", ["a", Key.BACKSPACE, "b", Key.BACKSPACE, Key.CLEAR, Key.REDRAW]),
        (b"\x0e\x10", [Key.DOWN, Key.UP]),
        (b"\x00\x01\t", []),
        ("训练".encode(), ["训", "练"]),
        ("a\u202eb\u0085c".encode(), ["a", "b", "c"]),
    ],
)
def test_bytes_become_keys(data: bytes, expected: list[Key | str]) -> None:
    """Every spelling of a key that clients use is understood."""
    assert pressed(data) == expected


def test_utf8_and_arrows_arrive_one_byte_at_a_time() -> None:
    """A character or a sequence that is split over packets is still one key; a split arrow cancels first."""
    assert pressed(*(bytes([byte]) for byte in "训".encode())) == ["训"]
    assert pressed(b"\x1b", b"[", b"B") == [Key.CANCEL, Key.DOWN]
    assert pressed(b"\x1b[", b"B") == [Key.DOWN]
    assert pressed(b"\x1b", b"x") == [Key.CANCEL, "x"]
    assert pressed(b"\r", b"\n") == [Key.ENTER]


def test_bytes_that_are_not_utf8_do_no_harm() -> None:
    """Stray bytes become replacement characters."""
    assert pressed(b"\xff\xe4a") == ["\ufffd", "\ufffda"]


@given(st.binary(max_size=200))
def test_nothing_that_is_typed_raises(data: bytes) -> None:
    """Any bytes give keys or printable text."""
    assert all(isinstance(press, Key) or press.isprintable() for press in pressed(data))
