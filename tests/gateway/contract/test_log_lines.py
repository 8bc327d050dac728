"""The common form of log lines."""

from __future__ import annotations

import logging
import re
import sys

import pytest

from gateway.contract.log_lines import LogLines, write_log_lines


def line(level: int, message: str, fault: BaseException | None = None) -> str:
    """One record as it is written by a process called web-0."""
    error = (type(fault), fault, fault.__traceback__) if fault else None
    record = logging.LogRecord("any.module", level, __file__, 1, message, (), error)
    record.created = 1_780_000_000.0
    return LogLines("web-0").format(record)


def test_a_line_has_the_time_in_utc_the_process_and_the_message() -> None:
    """An ordinary event needs no level."""
    assert line(logging.INFO, "serves revision 4") == "2026-05-28T20:26:40Z web-0 serves revision 4"


def test_a_level_above_info_is_told() -> None:
    """What needs attention can be searched for."""
    assert line(logging.WARNING, "slow") == "2026-05-28T20:26:40Z web-0 WARNING slow"


@pytest.mark.parametrize("hostile", ["a\n2026-05-28T20:26:40Z web-0 forged", "a\r\x1b[2Jb", "a\u2028b", "a\x00b"])
def test_what_came_from_outside_cannot_forge_a_line(hostile: str) -> None:
    """Every control character is escaped; Chinese is not."""
    written = line(logging.INFO, f"中文 {hostile}")
    assert written.isprintable()
    assert "web-0 中文 a\\" in written


def test_a_traceback_follows_indented() -> None:
    """Its lines belong to the event above them, even when the fault's own text has several."""
    try:
        raise ValueError("two\nlines")
    except ValueError as fault:
        first, *rest = line(logging.ERROR, "failed", fault).splitlines()
    assert first.endswith("web-0 ERROR failed")
    assert rest
    assert all(text.startswith("    ") for text in rest)


def test_a_process_writes_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one handler there is; what was set before is replaced."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [logging.StreamHandler(sys.stdout)])
    monkeypatch.setattr(root, "level", logging.WARNING)
    write_log_lines("control")
    logging.getLogger("some.room").info("made %d things", 3)
    logging.getLogger("some.room").debug("unseen")
    told = capsys.readouterr()
    assert re.fullmatch(r"\S+Z control made 3 things\n", told.err)
    assert not told.out
