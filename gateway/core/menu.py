"""The ssh menu: keys in, screen or choice out.

State: one open menu. A job keeps its number for as long as the menu is open, so that what a person
types means what they saw, though jobs come and go meanwhile. The session feeds bytes and jobs in,
writes what `draw` returns, and decides anew whether the chosen job may still be entered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway.core.menu_keys import Key, Keys, Press
from gateway.core.menu_screen import Row, cut, table_lines, width, wrap
from gateway.core.menu_words import clean, words
from gateway.core.table import Way

TYPED_LIMIT: Final = 64
"""Characters of the line or filter; what is typed or pasted beyond is dropped."""
_SIZE_LIMIT: Final = 1000
_PROMPT: Final = "> "


@dataclass(frozen=True, slots=True)
class Chosen:
    """The person wants this job; `rest` is what they typed ahead for it."""

    way: Way
    rest: bytes


@dataclass(frozen=True, slots=True)
class Left:
    """The person wants to go."""


class Menu:
    """One person's menu on one terminal."""

    def __init__(self, user_id: int, user_name: str, language: str, term: str) -> None:
        """An empty menu. `term` is the terminal's type; `dumb` or nothing gets neither colours nor cursor moves."""
        self._user_id = user_id
        self._words = words(language)
        self._title = self._words.title.format(user=clean(user_name))
        self._dumb = term in {"", "dumb"}
        self._columns, self._lines = 80, 24
        self._keys = Keys()
        self._ways: dict[str, tuple[int, Way]] = {}
        self._numbers: dict[str, int] = {}
        self._line, self._filter, self._message = "", "", ""
        self._filtering = False
        self._marked: str | None = None
        self._drawn: tuple[list[str], str] | None = None
        self._upset = False  # the screen holds what we cannot know: draw on a clean one

    def show(self, ways: Sequence[Way]) -> None:
        """The jobs that can be entered now, in the order to show them."""
        for way in ways:
            self._numbers.setdefault(way.job.id, len(self._numbers) + 1)
        self._ways = {way.job.id: (self._numbers[way.job.id], way) for way in ways}
        if self._marked not in self._ways:
            self._marked = None

    def say(self, text: str) -> None:
        """A sentence to show until the next key."""
        self._message = text

    def resize(self, columns: int, lines: int) -> None:
        """The terminal has this size; a size of 0 is 80 or 24."""
        self._columns = min(columns or 80, _SIZE_LIMIT)
        self._lines = min(lines or 24, _SIZE_LIMIT)
        self._upset = self._drawn is not None

    def type(self, data: bytes) -> Chosen | Left | None:
        """Takes what the terminal sent. Bytes after a choice come back with it."""
        for at, byte in enumerate(data):
            press = self._keys.take(byte)
            done = self._press(press) if press is not None else None
            if isinstance(done, Way):
                return Chosen(done, data[at + 1 :])
            if done is not None:
                return done
        if (press := self._keys.pause()) is not None:
            self._press(press)
        return None

    def draw(self, now: float) -> bytes:
        """The bytes that bring the terminal up to date; none when nothing changed. `now` is epoch seconds."""
        body, prompt = self._body(now), self._prompt()
        before, self._drawn = self._drawn, (body, prompt)
        if before == self._drawn and not self._upset:
            return b""
        if before is not None and before[0] == body and not self._upset:
            return self._over(before[1], prompt).encode()
        begin, self._upset = self._begin(before), False
        return (begin + "".join(f"{line}\r\n" for line in body) + prompt).encode()

    def farewell(self, way: Way) -> bytes:
        """The line that says which job is being entered."""
        said = self._words.entering.format(id=clean(way.job.id))
        return f"\r\n{cut(said, self._columns - 1)}\r\n".encode()

    # Keys ---------------------------------------------------------------------------------------

    def _press(self, press: Press) -> Way | Left | None:
        self._message = ""
        if isinstance(press, str):
            return self._write(press)
        match press:
            case Key.LEAVE:
                return Left()
            case Key.ENTER:
                return self._accept()
            case Key.UP | Key.DOWN:
                self._move(-1 if press is Key.UP else 1)
            case Key.REDRAW:
                self._upset = True
            case Key.CANCEL:
                self._line, self._filter, self._filtering, self._marked = "", "", False, None
            case Key.BACKSPACE:
                self._erase()
            case _:  # CLEAR
                self._line, self._filter = "", "" if self._filtering else self._filter
        return None

    def _write(self, text: str) -> Left | None:
        if self._filtering:
            self._filter = (self._filter + text)[:TYPED_LIMIT]
        elif text == "/" and not self._line:
            self._filtering, self._marked = True, None
        elif text == "q" and not self._line and not self._begins_a_name(text):
            return Left()
        else:
            self._line = (self._line + text)[:TYPED_LIMIT]
        return None

    def _begins_a_name(self, text: str) -> bool:
        """Whether `q` is the start of a job that is shown: then it leaves only with Enter."""
        return any(name.startswith(text) for row in self._rows() for name in (row.job.id, row.job.name))

    def _erase(self) -> None:
        if self._filtering and not self._filter:
            self._filtering = False
        elif self._filtering:
            self._filter = self._filter[:-1]
        else:
            self._line = self._line[:-1]

    def _move(self, step: int) -> None:
        shown = [row.job.id for row in self._rows()]
        if not shown:
            return
        if self._marked not in shown:
            self._marked = shown[0 if step > 0 else -1]
        else:
            self._marked = shown[(shown.index(self._marked) + step) % len(shown)]

    def _accept(self) -> Way | Left | None:
        typed, self._line = self._line.strip(), ""
        rows = self._rows()
        if typed:
            return self._typed(typed, rows)
        if self._marked in {row.job.id for row in rows}:
            return self._ways[str(self._marked)][1]
        if (self._filtering or self._filter) and len(rows) == 1:
            return self._ways[rows[0].job.id][1]
        if self._filtering:
            self._filtering = False
            if not rows:
                self._message, self._filter = self._words.nothing_fits.format(text=clean(self._filter)), ""
        elif self._ways:
            self._message = self._words.nothing_typed
        return None

    def _typed(self, typed: str, rows: Sequence[Row]) -> Way | Left | None:
        fitting = (
            [row for row in rows if str(row.number) == typed]
            or [row for row in rows if row.job.id == typed]
            or [row for row in rows if row.job.name == typed]
        )
        if len(fitting) == 1:
            return self._ways[fitting[0].job.id][1]
        if not fitting and typed == "q":
            return Left()
        said = self._words.several if fitting else self._words.unknown
        self._message = said.format(text=clean(typed))
        return None

    # Screen -------------------------------------------------------------------------------------

    def _rows(self) -> list[Row]:
        """The rows that pass the filter, in order."""
        wanted = self._filter.casefold()
        rows = (Row(number, way.job, way.job.owner_id != self._user_id) for number, way in self._ways.values())
        return [row for row in rows if wanted in _searchable(row)]

    def _body(self, now: float) -> list[str]:
        """All lines above the prompt: title, table, help, message; one cell short of the edge, so that none wraps."""
        columns = self._columns - 1
        below = [*wrap(self._advice(), columns), *(wrap(self._message, columns) if self._message else [])]
        rows = self._rows()
        room = max(1, self._lines - len(below) - 3)  # the title, the headings, the prompt
        first = self._first(rows, room)
        shown = rows[first : first + room]
        title = self._title
        if len(shown) < len(rows):
            title += "  " + self._words.part.format(first=first + 1, last=first + len(shown), total=len(rows))
        marked = next((row for row in shown if row.job.id == self._marked), None)
        table = table_lines(shown, marked, self._words, columns, now) if self._ways else []
        return [cut(title, columns), *table, *below]

    def _first(self, rows: Sequence[Row], room: int) -> int:
        """The first row to show, so that the marked one is among them."""
        at = next((at for at, row in enumerate(rows) if row.job.id == self._marked), 0)
        return max(0, min(at - room // 2, len(rows) - room))

    def _advice(self) -> str:
        if self._filtering:
            return self._words.help_filter
        return self._words.help if self._ways else self._words.empty

    def _prompt(self) -> str:
        label = f"{self._words.filter}: {clean(self._filter)}" if self._filtering or self._filter else ""
        typed = "" if self._filtering else f" {_PROMPT}{self._line}" if label else f"{_PROMPT}{self._line}"
        return _tail(label + typed, self._columns - 2)

    def _begin(self, before: tuple[list[str], str] | None) -> str:
        """What goes before a whole redraw: back to where the last one began, or to a clean screen."""
        if before is None or self._dumb:
            return "\r\n"
        return "\x1b[H\x1b[2J" if self._upset else f"\r\x1b[{len(before[0])}A\x1b[J"

    def _over(self, before: str, prompt: str) -> str:
        """The prompt in place of the one before it."""
        spare = max(0, width(before) - width(prompt))
        return f"\r{prompt}{' ' * spare}{chr(8) * spare}"


def _searchable(row: Row) -> str:
    job = row.job
    return f"{job.id}\n{job.name}\n{job.owner_name}\n{job.cluster}\n{job.node}".casefold()


def _tail(text: str, columns: int) -> str:
    """The end of the text, where it is wider than `columns` cells: what is being typed stays in sight."""
    while width(text) > columns and text:
        text = text[1:]
    return text
