"""The gateway's one talk with control: list everything, watch changes, acknowledge, ask.

State: the connection of the moment, the questions that wait for an answer, and what was reported
last. The Table is edited here and nowhere else, each time in one step without an await, and the
visits that lose a ground are cut in the same step: when control reads the acknowledgement, the
withdrawal has happened.

Routes are a level, not an edge: every new connection lists everything again, and so does a gateway
that control tells it has been away too long. What was lost meanwhile costs latency, never truth.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

from gateway import cancellation, garbage
from gateway.contract import slices
from gateway.contract.codec import Change, decode_change
from gateway.contract.feed import FEED_VERSION, HEARTBEAT_S, LEASE_S, REPORT_S, Question
from gateway.contract.visits import VisitsReport, encode_report
from gateway.core.listing import Listing
from gateway.core.table import Table
from gateway.feed.lines import Lines, parsed

log = logging.getLogger(__name__)

ASKS_LIMIT: Final = 256
"""Questions that may wait for an answer at the same time; more are answered with silence."""
_CUT_TOLD_S: Final = 0.05
"""Seconds after which the end of a visit that was cut is told, without waiting for the next report."""
_BACKOFF_S: Final = 0.05
_BACKOFF_LIMIT_S: Final = 1.0

Connect = Callable[[], AbstractAsyncContextManager[Lines]]
Edited = Callable[[frozenset[str]], object]
"""Is told, after each edit of the table and before it is acknowledged, which grounds were withdrawn."""

News = Callable[[], Iterable[VisitsReport]]
"""What changed about the live visits since the last call; its first call tells all of them."""


@dataclass(frozen=True, slots=True)
class Reports:
    """What control is told beside acknowledgements, and what it may order.

    `news` begins anew for each connection. `cut` ends a visit; whether there was such a one.
    """

    news: Callable[[], News] = lambda: tuple
    metrics: Callable[[], str] = str
    cut: Callable[[str], bool] = lambda _: False


class Feed:
    """Keeps a Table equal to what control says, for ever."""

    def __init__(
        self,
        table: Table,
        connect: Connect,
        *,
        name: str,
        role: str,
        instance: str,
        edited: Edited,
        now: Callable[[], float],
        ask_s: float,
        reports: Reports = Reports(),
        beat_s: float = HEARTBEAT_S,
        silence_s: float = LEASE_S,
    ) -> None:
        """`instance` is random and tells this process from its predecessor of the same name.

        `silence_s`: a connection on which control says nothing for so long is given up.
        """
        self._table = table
        self._connect = connect
        self._hello = {"v": FEED_VERSION, "name": name, "role": role, "instance": instance}
        self._edited = edited
        self._now = now
        self._ask_s = ask_s
        self._reports = reports
        self._report_due = asyncio.Event()
        self._unknown: list[str] = []
        self._beat_s = beat_s
        self._silence_s = silence_s
        self._listed = asyncio.Event()
        self._online = asyncio.Event()
        self._lines: Lines | None = None
        self._numbers = itertools.count(1)
        self._asking = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._failed_ports: dict[int, str] = {}

    async def run(self) -> None:
        """Talks with control until cancelled; connects again, with back-off, whenever the talk ends."""
        pause_s = _BACKOFF_S
        while True:
            try:
                async with self._connect() as lines:
                    await self._talk(lines)
            except* (OSError, TimeoutError, ValueError) as ends:
                log.warning("the feed ended: %s; serving on with revision %d", _first(ends), self._table.revision)
            except* Exception:  # whatever control said, the gateway serves on and asks again
                log.exception("the feed failed; serving on with revision %d", self._table.revision)
            pause_s = _BACKOFF_S if self._online.is_set() else min(pause_s * 2, _BACKOFF_LIMIT_S)
            self._hang_up()
            cancellation.pass_on()
            await asyncio.sleep(pause_s)

    async def listed(self) -> None:
        """Returns once the table holds a list that control sent to this process."""
        await self._listed.wait()

    @property
    def online(self) -> bool:
        """Whether control is listening to us now."""
        return self._online.is_set()

    async def ask(self, question: Question, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Control's answer to a question; None when there was none in time: silence is no.

        While control is away the question waits for its return. It is sent once: a one-time code
        that was sent is spent, whether or not its answer arrives.
        """
        if self._asking >= ASKS_LIMIT:
            return None
        self._asking += 1
        try:
            async with asyncio.timeout(self._ask_s):
                await self._online.wait()
                return await self._ask(question, arguments)
        except (TimeoutError, ConnectionError):
            return None
        finally:
            self._asking -= 1

    async def report_ports(self, failed: Mapping[int, str]) -> None:
        """Tells control which random ports could not be had, and why; told again after each reconnection."""
        self._failed_ports = dict(failed)
        try:
            await self._say(self._ports())
        except ConnectionError:
            return  # the next connection reports them

    async def _talk(self, lines: Lines) -> None:
        await lines.write({"hello": self._hello})
        welcome = (await self._hear(lines)).get("welcome")
        if not isinstance(welcome, dict):
            raise ConnectionError("control did not welcome us")
        log.info("on the feed of epoch %s", welcome.get("epoch"))
        self._lines = lines
        async with asyncio.TaskGroup() as group:
            held = _Held()
            group.create_task(self._beat(lines, held))
            group.create_task(self._report(lines, self._reports.news()))
            while True:
                await self._list(lines, held)
                await self._watch(lines, held)

    async def _list(self, lines: Lines, held: _Held) -> None:
        """Takes a whole list, slice by slice, and puts it in place in one step."""
        await lines.write({"list": {}})
        with garbage.kept_waiting():
            listing, revision = await self._slices(lines)
            self._edited(self._table.adopt(listing, revision))  # no await between the edit and the cuts
            garbage.keep(self._table.size())
        held.revision = revision
        await self._acknowledge(lines, held)
        self._listed.set()
        self._online.set()
        await lines.write(self._ports())
        for _ in listing.forget_old():
            await asyncio.sleep(0)

    async def _slices(self, lines: Lines) -> tuple[Listing, int]:
        """The list, indexed as it comes."""
        listing = self._table.listing()
        while True:
            line = await self._hear_line(lines)
            if not line.startswith(slices.START):
                self._take_other(parsed(line))
                continue
            part = slices.read_slice(line)
            listing.take(part.records)
            if part.last:
                return listing, part.revision
            await asyncio.sleep(0)  # several slices may have come at once: the loop turns after each

    async def _watch(self, lines: Lines, held: _Held) -> None:
        """Applies changes as they come; returns when control says that we must list again."""
        await lines.write({"watch": {"from": held.revision}})
        while True:
            message = await self._hear(lines)
            match message:
                case {"gone": True}:
                    return
                case {"changes": list(items), "revision": int(revision)}:
                    self._apply([decode_change(item) for item in items], revision)
                    held.revision = revision
                    await self._acknowledge(lines, held)
                case _:
                    self._take_other(message)

    def _apply(self, changes: list[Change], revision: int) -> None:
        """Edits the table and cuts what lost its ground, in one step: no await in here."""
        order = [self._table.revision, *(change.revision for change in changes)]
        if any(earlier >= later for earlier, later in itertools.pairwise(order)) or revision != order[-1]:
            raise ConnectionError("changes came out of order")
        if changes:
            self._edited(frozenset().union(*[self._table.apply(change) for change in changes]))

    async def _acknowledge(self, lines: Lines, held: _Held) -> None:
        self._table.confirm(self._now())
        await lines.write({"ack": held.revision})

    async def _beat(self, lines: Lines, held: _Held) -> None:
        """Says every few seconds what we hold; nothing (0) until this connection's list is in place."""
        while True:
            await asyncio.sleep(self._beat_s)
            await lines.write({"ack": held.revision})
            await lines.write({"report": {"metrics": self._reports.metrics()}})

    async def _report(self, lines: Lines, news: News) -> None:
        """Tells of the live visits: all of them, then what changes, at most every REPORT_S seconds or after a cut."""
        while True:
            self._report_due.clear()
            for part in news():
                await lines.write({"report": {"visits": encode_report(part)}})
                await asyncio.sleep(0)  # a full house is many parts, and a write seldom waits
            unknown, self._unknown = self._unknown, []
            if unknown:
                await lines.write({"report": {"visits": encode_report(VisitsReport(gone=tuple(unknown)))}})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPORT_S):
                    await self._report_due.wait()

    def _cut(self, names: list[str]) -> None:
        """Cuts visits now. One that is not here is reported as gone: control believed in it."""
        self._unknown += [name for name in names if not self._reports.cut(name)]
        asyncio.get_running_loop().call_later(_CUT_TOLD_S, self._report_due.set)  # once their tasks have ended

    async def _hear(self, lines: Lines) -> dict[str, Any]:
        return parsed(await self._hear_line(lines))

    async def _hear_line(self, lines: Lines) -> bytes:
        try:
            async with asyncio.timeout(self._silence_s):
                return await lines.read_line()
        except TimeoutError as fault:
            raise ConnectionError(f"control said nothing for {self._silence_s} s") from fault

    async def _ask(self, question: Question, arguments: Mapping[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._say({"ask": {"id": number, "question": question, **arguments}})
            return await answer
        finally:
            del self._waiting[number]

    def _take_other(self, message: dict[str, Any]) -> None:
        match message:
            case {"answer": {"id": int(number), **answer}}:
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result({str(word): value for word, value in answer.items()})
            case {"cut": {"visits": list(names)}}:
                self._cut([str(name) for name in names])
            case _:
                raise ConnectionError("a message that is not of the feed")

    async def _say(self, message: dict[str, Any]) -> None:
        if self._lines is None:
            raise ConnectionError("control is away")
        await self._lines.write(message)

    def _hang_up(self) -> None:
        self._lines = None
        self._online.clear()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionError("control went away"))

    def _ports(self) -> dict[str, Any]:
        return {"report": {"ports": {str(port): why for port, why in self._failed_ports.items()}}}


class _Held:
    """The revision that this connection may acknowledge; 0 until its list is in place."""

    revision = 0


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first real fault in a group: what the log line names."""
    fault = group.exceptions[0]
    return _first(fault) if isinstance(fault, BaseExceptionGroup) else fault
