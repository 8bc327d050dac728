"""The short way of the usual request: one like the last, on connections that stand, right after it.

Browsers and programs repeat their fields word for word. What the conversation admitted and forwarded a moment ago
it need not look at again: until MEMORY_S are over, the table changes or the visit is cut, a GET with the same
fields goes out within the callback that brought it, and its answer comes back in another; no task is woken.
Whatever is not exactly so is handed back to the conversation, with every byte where it would have been.

State: what was learned from the last request, and the one that is on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.core import http1
from gateway.core.decide import Admission
from gateway.core.http1 import RequestHead
from gateway.core.table import Table
from gateway.entries.http.brief import Judge
from gateway.entries.http.lessons import Lesson, Lessons
from gateway.entries.http.pool import is_quiet
from gateway.entries.http.stream import Stream

MEMORY_S: Final = 1.0
"""Seconds for which an admission is trusted without a new look, as long as the table stays the same."""


@dataclass(frozen=True, slots=True)
class _Lesson:
    """A request's fields as they came (from the end of its first line on), as they were sent, and over what."""

    came: bytes
    sent: bytes
    host: str
    up: Stream
    revision: int
    until: float


class Lane:
    """One connection's short way."""

    def __init__(self, down: Stream, table: Table) -> None:
        self.underway = False
        """Whether the request in the person's buffer was sent upstream before it was handed back."""
        self._down = down
        self._table = table
        self._loop = asyncio.get_running_loop()
        self._raw = b""
        self._revision = 0
        self._until = 0.0
        self._lesson: _Lesson | None = None
        self._judge: Judge | None = None
        self._asked: bytes | None = None
        self._seen: bytes | None = None
        self._asking: Taker | None = None
        self._answering: Taker | None = None

    # What the conversation tells.

    def heard(self, raw: bytes) -> None:
        """The conversation begins to judge this head; what it finds is good from this moment."""
        self._raw, self._revision, self._until = raw, self._table.revision, self._loop.time() + MEMORY_S

    def learn(self, head: RequestHead, sent: bytes, host: str, up: Stream) -> None:
        """The request was admitted, sent as `sent` and answered whole; both connections take another."""
        if http1.plain_get(self._raw[: self._raw.find(b"\r\n")]) is None or not http1.keeps_alive(head):
            self._lesson = None
            return
        came, sent = (message[message.find(b"\r\n") :] for message in (self._raw, sent))
        if self._judge is None or self._lesson is None or self._lesson.host != host:
            self._judge = Judge(host, closes=False)
        self._lesson = _Lesson(came, sent, host, up, self._revision, self._until)
        if self._asking is None:
            self._asking = Taker(self.ask, self.close, up)
            self._answering = Taker(self.answer, self.close, self._down)
        self._asking.sink = up

    def teach(self, lessons: Lessons, address: str, sent: bytes, key: object, admission: Admission) -> None:
        """The request was admitted, sent as `sent` and answered briefly, and is the last one of its connection."""
        end = self._raw.find(b"\r\n")
        if http1.plain_get(self._raw[:end]) is None:
            return
        came = self._raw[end:]
        before = lessons.recall(address, came)
        judge = before.judge if before is not None else Judge(admission.entry.host, closes=True)
        sent = sent[sent.find(b"\r\n") :]
        lessons.teach(address, came, Lesson(admission, sent, key, judge, self._revision, self._until))

    def open(self) -> None:
        """The conversation rests: from now on the lane sees first what comes."""
        if self._lesson is not None and not (self._down.buffer or self._down.eof or self._down.lost):
            self._down.flow = self._asking

    def close(self) -> bool:
        """Hands everything back; whether a request that waits in the buffer now is on its way already."""
        if self.is_open:
            self._down.flow = None
        asked, self._asked = self._asked, None
        if asked is not None and self._lesson is not None:
            self._lesson.up.flow = None
            self.underway = True
            self._down.unread(asked)
        return asked is not None

    def end(self) -> None:
        """Nothing more will be asked of it."""
        self.close()
        self._asking = self._answering = None

    def forget(self) -> None:
        """What was learned is no longer true."""
        self._lesson = None

    def sweep(self) -> bool:
        """Whether a request is on its way; one that was already at the last sweep is handed back for good."""
        seen, self._seen = self._seen, self._asked
        if self._asked is not None and seen is self._asked:
            self.close()
            return True
        return self._asked is not None

    @property
    def is_open(self) -> bool:
        """Whether the lane sees first what comes."""
        return self._asking is not None and self._down.flow is self._asking

    # What the connections bring.

    def ask(self, data: bytes) -> None:
        """Sends the request on, when `data` is exactly one like the last."""
        lesson, end = self._lesson, data.find(b"\r\n")
        if lesson is None or self._asked is not None or data[end:] != lesson.came or not self._stands(lesson):
            self._hand_back(data)
            return
        target = http1.plain_get(data[:end])
        if target is None or target.startswith(b"/.starlight/"):
            self._hand_back(data)
            return
        self._asked = data
        lesson.up.answered = False
        lesson.up.flow = self._answering
        lesson.up.write(data[:end] + lesson.sent)

    def answer(self, data: bytes) -> None:
        """Sends the answer on, when `data` is exactly one whole that leaves both connections usable."""
        lesson, judge = self._lesson, self._judge
        answer = judge.answer(data) if judge is not None else None
        if not answer or lesson is None or self._down.clogged:
            if lesson is not None:
                lesson.up.unread(data)
            self.close()
            return
        self._asked = lesson.up.flow = None
        self._down.write(answer)

    def _hand_back(self, data: bytes) -> None:
        self.close()
        self._down.unread(data)

    def _stands(self, lesson: _Lesson) -> bool:
        """Whether what was learned is still true, and both sides have nothing else to do."""
        if self._loop.time() > lesson.until or self._table.revision != lesson.revision:
            return False
        return is_quiet(lesson.up) and not (lesson.up.clogged or self._down.clogged or lesson.up.flow)


class Taker:
    """Stands in a Stream's `flow`; whatever ends the source ends the short way."""

    __slots__ = ("_close", "sink", "take")

    def __init__(self, take: Callable[[bytes], None], close: Callable[[], object], sink: Stream) -> None:
        self.take = take
        self.sink = sink
        self._close = close

    def source_ended(self) -> None:
        self._close()

    def source_lost(self) -> None:
        self._close()
