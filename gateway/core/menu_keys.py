"""What a terminal sends, byte by byte, to keys: text in UTF-8, Enter in its three spellings, arrows.

State: a half-read character or escape sequence. Clients differ: PuTTY sends CR, some send LF, some
both; an arrow is `ESC [ A` or `ESC O A`, and any of it may come one byte at a time.
"""

from __future__ import annotations

import codecs
from enum import Enum, auto
from typing import Final


class Key(Enum):
    """A key that is not text."""

    ENTER = auto()
    BACKSPACE = auto()
    CLEAR = auto()
    UP = auto()
    DOWN = auto()
    CANCEL = auto()
    LEAVE = auto()
    REDRAW = auto()


Press = Key | str

_CONTROLS: Final[dict[int, Key]] = {
    0x03: Key.LEAVE,  # Ctrl-C
    0x04: Key.LEAVE,  # Ctrl-D
    0x08: Key.BACKSPACE,
    0x0C: Key.REDRAW,  # Ctrl-L
    0x0E: Key.DOWN,  # Ctrl-N
    0x10: Key.UP,  # Ctrl-P
    0x15: Key.CLEAR,  # Ctrl-U
    0x7F: Key.BACKSPACE,
}
_ARROWS: Final[dict[int, Key]] = {ord("A"): Key.UP, ord("B"): Key.DOWN}
_ESCAPE, _RETURN, _NEWLINE = 0x1B, 0x0D, 0x0A


class _State(Enum):
    GROUND = auto()
    ESCAPE = auto()  # ESC was read; what follows says whether a sequence begins
    ALONE = auto()  # that ESC was taken for the key; a sequence may still come late
    SEQUENCE = auto()


class Keys:
    """A decoder for one terminal."""

    def __init__(self) -> None:
        """Nothing read yet."""
        self._state = _State.GROUND
        self._after_return = False
        self._text = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, byte: int) -> Press | None:
        """The key that this byte completes, if it does."""
        after_return, self._after_return = self._after_return, byte == _RETURN
        match self._state:
            case _State.SEQUENCE:
                return self._in_sequence(byte)
            case _State.ESCAPE | _State.ALONE if byte in b"[O":
                self._state = _State.SEQUENCE
                return None
            case _State.ESCAPE if byte != _ESCAPE:
                self._state = _State.GROUND  # Alt with a key: nothing here is bound to it
                return None
        self._state = _State.GROUND
        if byte == _NEWLINE and after_return:
            return None
        return self._plain(byte)

    def pause(self) -> Press | None:
        """Says that no more bytes came at once: an ESC that stands alone was the key."""
        if self._state is not _State.ESCAPE:
            return None
        self._state = _State.ALONE
        return Key.CANCEL

    def _in_sequence(self, byte: int) -> Press | None:
        if not 0x40 <= byte <= 0x7E:  # parameters; ECMA-48 5.4
            return None
        self._state = _State.GROUND
        return _ARROWS.get(byte)

    def _plain(self, byte: int) -> Press | None:
        if byte == _ESCAPE:
            self._state = _State.ESCAPE
            return None
        if byte in {_RETURN, _NEWLINE}:
            return Key.ENTER
        if byte < 0x20 or byte == 0x7F:
            return _CONTROLS.get(byte)
        text = self._text.decode(bytes([byte]))
        return text if text and text.isprintable() else None
