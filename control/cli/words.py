"""What the command line says, in the language of the person's environment."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from control.domain.errors import Language


def language_of(environ: Mapping[str, str]) -> Language:
    """zh when the locale is Chinese, else en. LC_ALL wins over LC_MESSAGES over LANG (POSIX)."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if environ.get(name):
            return "zh" if environ[name].lower().startswith("zh") else "en"
    return "en"


class Words:
    """Picks the sentence of one language."""

    def __init__(self, language: Language | None = None) -> None:
        self.language: Language = language or language_of(os.environ)

    def __call__(self, zh: str, en: str, **params: Any) -> str:
        """The sentence, filled in."""
        return (zh if self.language == "zh" else en).format_map(params)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Columns two spaces apart; a Chinese character takes two places. Control characters are shown as `?`."""
    lines = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(head))]
    return [
        "  ".join(_padded(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    ]


def _cell(value: object) -> str:
    text = "-" if value is None or value == "" else str(value)
    return "".join(character if character.isprintable() else "?" for character in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
