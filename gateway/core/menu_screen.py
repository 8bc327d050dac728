"""How the ssh menu looks: jobs to lines that fit a terminal of any width, Chinese characters two cells wide.

Where the terminal is narrow, columns go before letters do: node first, number and id never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from wcwidth import wcwidth

from gateway.contract.routes import Job
from gateway.core.menu_words import Words, clean

_NUMBER, _ID, _NAME, _OWNER, _CLUSTER, _STATE, _TIME, _NODE = range(8)
_EXPENDABLE: Final = (_NODE, _CLUSTER, _STATE, _TIME, _OWNER, _NAME)
_WIDEST: Final = {_ID: 40, _NAME: 24, _OWNER: 16, _CLUSTER: 16, _STATE: 12, _NODE: 20}
_NAME_AT_LEAST: Final = 6
_GAP: Final = "  "
MARK, _NO_MARK = "> ", "  "


@dataclass(frozen=True, slots=True)
class Row:
    """One job of the menu. `number` stays the job's own while the menu is open; `shared` names a foreign owner."""

    number: int
    job: Job
    shared: bool


def table_lines(rows: Sequence[Row], marked: Row | None, words: Words, columns: int, now: float) -> list[str]:
    """The heading and a line for each row, none wider than `columns` cells."""
    cells = [list(words.headings), *(_cells(row, words, now) for row in rows)]
    widths = _widths(cells, columns, owner=any(row.shared for row in rows))
    marks = [_NO_MARK, *(MARK if row == marked else _NO_MARK for row in rows)]
    lines = [
        mark + _GAP.join(fit(line[at], wide) for at, wide in widths) for mark, line in zip(marks, cells, strict=True)
    ]
    return [cut(line.rstrip(), columns) for line in lines]


def elapsed(since: str, now: float) -> str:
    """The time from `since` (RFC 3339) to `now` (epoch seconds): `0:05`, `23:59`, `2d 01:00`; empty when not known."""
    try:
        began = datetime.fromisoformat(since).timestamp()
    except ValueError:
        return ""
    minutes = max(0, int(now - began)) // 60
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    return f"{days}d {hours:02}:{minutes:02}" if days else f"{hours}:{minutes:02}"


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of at most `columns` cells, broken at spaces or between wide characters where it can."""
    lines, line = [], ""
    for piece in _pieces(text):
        if line and width(line + piece.rstrip()) > columns:
            lines.append(line.rstrip())
            line = ""
        line += piece.lstrip() if not line else piece
    return [cut(line, columns) for line in [*lines, line.rstrip()]]


def width(text: str) -> int:
    """Cells that the text takes on a terminal."""
    return sum(max(0, wcwidth(char)) for char in text)


def cut(text: str, columns: int) -> str:
    """The text, its end replaced by `…` where it is wider than `columns` cells."""
    if width(text) <= columns:
        return text
    end, room = 0, columns - 1
    while (cells := max(0, wcwidth(text[end]))) <= room:
        end, room = end + 1, room - cells
    return text[:end] + "…"[:columns]


def fit(text: str, columns: int) -> str:
    """The text in exactly `columns` cells."""
    short = cut(text, columns)
    return short + " " * (columns - width(short))


def _cells(row: Row, words: Words, now: float) -> list[str]:
    job = row.job
    state = words.states.get(job.state, job.state)
    owner = job.owner_name if row.shared else ""
    told = (job.id, job.name, owner, job.cluster, state, elapsed(job.since, now), job.node)
    return [str(row.number), *(clean(text) for text in told)]


def _widths(cells: Sequence[Sequence[str]], columns: int, *, owner: bool) -> list[tuple[int, int]]:
    """The columns that are shown, left to right, each with its width in cells."""
    wide = {at: min(_WIDEST.get(at, columns), max(width(line[at]) for line in cells)) for at in range(8)}
    shown = [at for at in range(8) if owner or at != _OWNER]
    for at in _EXPENDABLE:
        over = len(MARK) + sum(wide[at] for at in shown) + len(_GAP) * (len(shown) - 1) - columns
        if over <= 0:
            break
        if at == _NAME and wide[_NAME] - over >= _NAME_AT_LEAST:
            wide[_NAME] -= over
        elif at in shown:
            shown.remove(at)
    return [(at, wide[at]) for at in shown]


def _pieces(text: str) -> list[str]:
    """Words with the space before them, and wide characters one by one."""
    pieces: list[str] = []
    for char in text:
        if not pieces or char == " " or wcwidth(char) == 2 or wcwidth(pieces[-1][-1]) == 2:
            pieces.append(char)
        else:
            pieces[-1] += char
    return pieces
