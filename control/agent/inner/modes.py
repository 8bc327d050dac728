"""Terminal modes as SSH encodes them (RFC 4254, section 8) applied to a terminal of this machine."""

from __future__ import annotations

import termios
from collections.abc import Mapping
from typing import Any, Final

_IFLAG, _OFLAG, _CFLAG, _LFLAG, _ISPEED, _OSPEED, _CC = range(7)
_CONTROL_CHARACTERS: Final = {
    1: "VINTR", 2: "VQUIT", 3: "VERASE", 4: "VKILL", 5: "VEOF", 6: "VEOL", 7: "VEOL2", 8: "VSTART", 9: "VSTOP",
    10: "VSUSP", 12: "VREPRINT", 13: "VWERASE", 14: "VLNEXT", 18: "VDISCARD",
}  # fmt: skip
_FLAGS: Final = {
    30: (_IFLAG, "IGNPAR"), 31: (_IFLAG, "PARMRK"), 32: (_IFLAG, "INPCK"), 33: (_IFLAG, "ISTRIP"),
    34: (_IFLAG, "INLCR"), 35: (_IFLAG, "IGNCR"), 36: (_IFLAG, "ICRNL"), 38: (_IFLAG, "IXON"),
    39: (_IFLAG, "IXANY"), 40: (_IFLAG, "IXOFF"), 41: (_IFLAG, "IMAXBEL"), 42: (_IFLAG, "IUTF8"),
    50: (_LFLAG, "ISIG"), 51: (_LFLAG, "ICANON"), 53: (_LFLAG, "ECHO"), 54: (_LFLAG, "ECHOE"),
    55: (_LFLAG, "ECHOK"), 56: (_LFLAG, "ECHONL"), 57: (_LFLAG, "NOFLSH"), 58: (_LFLAG, "TOSTOP"),
    59: (_LFLAG, "IEXTEN"), 60: (_LFLAG, "ECHOCTL"), 61: (_LFLAG, "ECHOKE"), 62: (_LFLAG, "PENDIN"),
    70: (_OFLAG, "OPOST"), 72: (_OFLAG, "ONLCR"), 73: (_OFLAG, "OCRNL"), 74: (_OFLAG, "ONOCR"),
    75: (_OFLAG, "ONLRET"), 90: (_CFLAG, "CS7"), 91: (_CFLAG, "CS8"), 92: (_CFLAG, "PARENB"),
    93: (_CFLAG, "PARODD"),
}  # fmt: skip
_NO_CHARACTER: Final = 255
_IUTF8: Final = 0o40000
"""termios has no name for it before Python 3.13."""


def apply_modes(terminal: int, modes: Mapping[str, Any]) -> None:
    """Sets the modes, keyed by opcode in decimal, on the open terminal. What this machine does not know is skipped."""
    attributes = termios.tcgetattr(terminal)
    for opcode, value in modes.items():
        if opcode.isdecimal() and isinstance(value, int):
            _apply(attributes, int(opcode), value)
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def _apply(attributes: list[Any], opcode: int, value: int) -> None:
    if opcode in _CONTROL_CHARACTERS:
        index = getattr(termios, _CONTROL_CHARACTERS[opcode], None)
        if index is not None and 0 <= value <= _NO_CHARACTER:
            attributes[_CC][index] = bytes([0 if value == _NO_CHARACTER else value])
    elif opcode in _FLAGS:
        word, name = _FLAGS[opcode]
        flag = _IUTF8 if name == "IUTF8" else getattr(termios, name, 0)
        attributes[word] = attributes[word] | flag if value else attributes[word] & ~flag
