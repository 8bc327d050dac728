"""How every process of the platform writes its log: one line an event, all in one form, so that they mix well.

    2026-12-01T15:15:14Z web-0 serves revision 4
    2026-12-01T15:15:15Z control WARNING the database is slow

The level is told when it is above INFO. What came from outside cannot forge a line: control characters in a
message are escaped. A traceback follows its line, indented.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Final

_INDENT: Final = "    "


class LogLines(logging.Formatter):
    """Formats the records of the process called `name`."""

    def __init__(self, name: str) -> None:
        super().__init__("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime
        self._name = name

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """The line without a traceback."""
        level = f"{record.levelname} " if record.levelno > logging.INFO else ""
        return f"{record.asctime} {self._name} {level}{_one_line(record.message)}"

    def formatException(self, ei: object) -> str:  # noqa: N802 - logging's own name
        """The traceback, indented so that no line of it looks like an event."""
        text = super().formatException(ei)  # type: ignore[arg-type]  # typeshed's alias is private
        return "\n".join(_INDENT + line for line in text.splitlines())


def write_log_lines(name: str) -> None:
    """Sends what this process logs, from INFO up, to standard error in the common form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines(name))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


def _one_line(message: str) -> str:
    if message.isprintable():
        return message
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in message)
