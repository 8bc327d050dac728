"""A pytest plugin (`-p tests.house.minutes`): how long each house's tests took, before the closing line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a house, set-up and tear-down included."""
    seconds: dict[str, float] = defaultdict(float)
    for report in _reports(terminalreporter):
        seconds[_house(report.nodeid)] += report.duration
    terminalreporter.section("minutes per house")
    for house, spent_s in sorted(seconds.items(), key=lambda item: -item[1]):
        terminalreporter.write_line(f"{house:16} {spent_s / 60:6.2f} min")


def _reports(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    for reports in reporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                yield report


def _house(nodeid: str) -> str:
    return Path(nodeid.partition("::")[0]).parts[1] if "/" in nodeid else "."
