"""An errand: one request on a connection of its own, like one of a moment ago, done without a task.

Programs open a connection for each request, and repeat their fields word for word. What a conversation admitted,
forwarded and got answered a moment ago need not be thought about again (`lessons.py`): the request is read off
the accepted socket, goes out on a pooled upstream, and the answer that comes back in one piece is written in
one, after which the connection closes, as the person asked for. Like on the short way within a connection
(`lane.py`), whatever is not exactly so goes on as a conversation, with every byte where it would have been.

An errand is a visit of its own. It does not watch its person: what takes longer than PATIENCE_S goes on as a
conversation, which does. (A stream of HTTP/2 can be watched, and has more time.)
State: the errands that are on their way.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from gateway.core import http1
from gateway.core.refusals import Refusal
from gateway.entries.http import answers, brief
from gateway.entries.http.admit import Front
from gateway.entries.http.lessons import Lesson
from gateway.entries.http.stream import Stream
from gateway.wire.relay import reset_on_close

PATIENCE_S: Final = 0.05
"""Seconds, at most twice, after which an errand goes on as a conversation: when the person is gone, it is to notice."""
RENEW_S: Final = 0.5
"""Seconds before its end at which a lesson is learned anew."""
HEAD_BYTES: Final = 8 * 1024
"""Bytes of a request that is read at once; a longer head makes no errand."""


class Errand:
    """One request that was sent. `refusal` is set when it was cut after it had been handed over."""

    __slots__ = ("_errands", "_got", "_lesson", "address", "asked", "refusal", "seen", "sock", "up", "visit")

    clogged = False  # as a sink: an answer is taken whole, or not at all

    def __init__(
        self, errands: Errands, sock: socket.socket, address: str, asked: bytes, lesson: Lesson, up: Stream
    ) -> None:
        self._errands = errands
        self._lesson = lesson
        self._got = b""
        self.sock = sock
        self.address = address
        self.asked = asked
        self.up = up
        self.seen = False
        self.refusal: Refusal | None = None
        gate = errands.front.gate
        self.visit = gate.visits.open(lesson.admission, errands.front.scheme, address, self.cut).begin()

    @property
    def key(self) -> object:
        """The way that `up` leads."""
        return self._lesson.key

    @property
    def words(self) -> bytes:
        """The fields as they came."""
        return self.asked[self.asked.find(b"\r\n") :]

    # What the upstream connection brings: a Flow by its duties.

    @property
    def sink(self) -> Errand:
        """Where the answer goes."""
        return self

    def take(self, data: bytes) -> None:
        """Sends the answer on, once what came is exactly one."""
        got = self._got = self._got + data if self._got else data
        answer = self._lesson.judge.answer(got) if len(got) <= brief.LIMIT else None
        if answer:
            self.up.flow = None
            self._say(answer)
            self._errands.done(self)
        elif answer is None:
            self._errands.spoil(self)
            self._errands.hand_over(self)

    def source_ended(self) -> None:
        """Upstream ended without a whole answer: a conversation sees what is to be done."""
        self._errands.hand_over(self)

    def source_lost(self) -> None:
        """Upstream was lost before the whole answer."""
        self._errands.hand_over(self)

    def give_back(self) -> None:
        """Puts what came of an answer where a conversation looks for it."""
        self.up.flow = None
        got, self._got = self._got, b""
        self.up.unread(got)

    # What the listener asks, as of a conversation.

    def sweep(self, _now: float) -> None:
        """Nothing to do: its time is watched by its own clock."""

    def drain(self) -> None:
        """Nothing to do: it is the last of its connection anyhow."""

    def cut(self, refusal: Refusal) -> None:
        """Ends it now: upstream is to stop, and the person is told why."""
        if self.up.flow is not self:
            self.refusal = refusal
            self.up.abort()
            return
        self.up.flow = None
        self.up.abort()
        self._say(self._refused(refusal))
        self._errands.done(self)

    def end_if_cut(self, down: Stream) -> None:
        """Ends the connection that the errand became when it was cut on the way."""
        if self.refusal is not None:
            down.take(len(down.buffer))
            down.write(self._refused(self.refusal))
            down.close()

    def _refused(self, refusal: Refusal) -> bytes:
        """The refusal in the words that answer this request."""
        gate, scheme = self._errands.front.gate, self._errands.front.scheme
        gate.metrics.refused(scheme, refusal.code)
        head = http1.parse_request(self.asked)
        return answers.refuse(head, refusal, console_url=gate.config.console_url, closes=True)

    def _say(self, answer: bytes) -> None:
        try:
            sent = self.sock.send(answer)
        except OSError:
            sent = 0  # the person is gone, or the kernel has no memory left
        if sent < len(answer):
            reset_on_close(self.sock)  # never to be taken for the whole


class Errands:
    """The errands of one listener."""

    def __init__(
        self,
        front: Front,
        go_on: Callable[[Errand], None],
        ended: Callable[[Errand], None],
        patience_s: float | None = None,
    ) -> None:
        """`go_on` makes a conversation of one that is handed over; `ended` hears of the others' ends.

        `patience_s` is PATIENCE_S where the errands' persons are not watched.
        """
        self._patience_s = PATIENCE_S if patience_s is None else patience_s
        self.front = front
        self._go_on = go_on
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._underway: dict[Errand, None] = {}
        self._alarm: asyncio.TimerHandle | None = None

    def begin(self, sock: socket.socket, address: str, data: bytes) -> Errand | None:
        """Runs the errand that a new connection's first bytes ask for; None when they ask for something else."""
        end, front = data.find(b"\r\n"), self.front
        lesson = front.lessons.recall(address, data[end:])
        if lesson is None or not self._is_good(lesson):
            return None
        target = http1.plain_get(data[:end])
        if target is None or target.startswith(b"/.starlight/"):
            return None
        if front.gate.room(lesson.admission.entry, address) is not None:
            return None
        up = front.pool.take(lesson.key)
        if up is None:
            return None
        errand = Errand(self, sock, address, data, lesson, up)
        self._underway[errand] = None
        if self._alarm is None:
            self._alarm = self._loop.call_later(self._patience_s, self._look)
        up.answered = False
        up.flow = errand
        up.write(data[:end] + lesson.sent)
        return errand

    def _is_good(self, lesson: Lesson) -> bool:
        """Whether it still holds; no, too, for one request a little before its end, which learns it anew."""
        left_s = lesson.until - self._loop.time()
        if left_s < 0 or self.front.gate.table.revision != lesson.revision:
            return False
        if left_s > RENEW_S or lesson.renewing:
            return True
        lesson.renewing = True
        return False

    def done(self, errand: Errand) -> None:
        """The errand has ended: upstream may serve another."""
        up, visit = errand.up, errand.visit
        visit.count(up.sent, up.received)
        up.sent = up.received = 0
        self.front.pool.give(errand.key, up)
        errand.sock.close()
        visit.leave()
        del self._underway[errand]
        self._ended(errand)

    def lose(self, errand: Errand) -> None:
        """One that was handed over did not become a conversation."""
        errand.up.abort()
        errand.visit.leave()
        self._ended(errand)

    def hand_over(self, errand: Errand) -> None:
        """The errand goes on as a conversation."""
        errand.give_back()
        del self._underway[errand]
        self._go_on(errand)

    def spoil(self, errand: Errand) -> None:
        """What such requests are answered with is not for errands."""
        self.front.lessons.spoil(errand.address, errand.words, self._loop.time())

    def stop(self) -> None:
        """Makes conversations of all that is underway."""
        for errand in list(self._underway):
            self.hand_over(errand)
        if self._alarm is not None:
            self._alarm.cancel()

    def _look(self) -> None:
        """Hands over what was underway already at the last look."""
        for errand in list(self._underway):
            if errand.seen:
                self.hand_over(errand)
            errand.seen = True
        self._alarm = self._loop.call_later(self._patience_s, self._look) if self._underway else None
