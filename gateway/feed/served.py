"""The control end of the feed: gateways list, watch, acknowledge and ask here.

State: which connection speaks for which gateway. A gateway is registered while its connection beats;
when the connection ends, its name is kept for one lease, so that a restarted process takes over
without anybody noticing, and is then given up. A gateway that does not read is dropped and lists again.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from typing import Any, Final, Protocol

from gateway import cancellation
from gateway.contract.codec import Change, encode_change
from gateway.contract.feed import FEED_VERSION, HEARTBEAT_S, LEASE_S, SLICE_RECORDS, Question
from gateway.contract.slices import Encoded, slice_line
from gateway.contract.visits import VisitsReport, decode_report
from gateway.feed.lines import Lines, LineTooLongError

log = logging.getLogger(__name__)

ASKS_LIMIT: Final = 64
"""Questions of one gateway that are answered at the same time; more are refused at once."""
_ACCEPT_PAUSE_S: Final = 0.1


class FeedSource(Protocol):
    """Where the control end takes its records and answers from."""

    @property
    def epoch(self) -> str:
        """Names the database: another epoch, other revisions."""

    def slices(self) -> AsyncIterator[tuple[list[Encoded], int, bool]]:
        """All records in slices, each with the list's revision and whether it is the last.

        The revision is read no later than the first record: what changed while the list was read is
        sent once more by the watch, which does no harm.
        """

    async def changes_after(self, revision: int, limit: int) -> list[Change] | None:
        """The next changes, ascending; None when they are no longer known and the gateway must list."""

    async def wait_for(self, revision: int) -> None:
        """Returns when something newer than `revision` exists, or seems to."""

    async def answer(self, question: Question, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer's fields, with `ok`."""

    def registered(self, name: str, role: str, instance: str) -> None:
        """This process speaks for the gateway from now on; it holds no revision yet."""

    def acknowledged(self, name: str, revision: int) -> None:
        """The gateway's table holds this revision."""

    def lost(self, name: str) -> None:
        """The gateway's lease lapsed."""

    def ports(self, name: str, failed: dict[int, str]) -> None:
        """The random ports that the gateway could not get, with why; empty when it has all."""

    def visits(self, name: str, report: VisitsReport) -> None:
        """What changed about the visits that are open at the gateway."""

    def metrics(self, name: str, text: str) -> None:
        """The gateway's counts in Prometheus's text format."""

    async def cuts(self, name: str) -> list[str]:
        """The next visits that the gateway is to cut; waits until there are some. Each is told once."""


class FeedServer:
    """Serves the feed on a listening Unix socket."""

    def __init__(
        self, listener: socket.socket, source: FeedSource, *, lease_s: float = LEASE_S, beat_s: float = HEARTBEAT_S
    ) -> None:
        """The listener stays the caller's. `lease_s`: after so many seconds of silence a gateway is given up."""
        listener.setblocking(False)
        self._listener = listener
        self._source = source
        self._lease_s = lease_s
        self._beat_s = beat_s
        self._speaking: dict[str, _Connection] = {}

    async def run(self) -> None:
        """Serves until cancelled."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as connections:
            while True:
                try:
                    sock, _ = await loop.sock_accept(self._listener)
                except OSError as fault:  # out of descriptors, or the peer is gone already
                    log.warning("cannot accept a gateway: %s", fault)
                    await asyncio.sleep(_ACCEPT_PAUSE_S)
                else:
                    connections.create_task(self._serve(sock))

    async def _serve(self, sock: socket.socket) -> None:
        lines = await Lines.over(sock, write_s=self._lease_s)
        connection = _Connection(lines, self._source, self._lease_s, self._beat_s)
        try:
            await connection.greet()
            self._register(connection)
            await connection.talk()
        except* (ConnectionError, TimeoutError) as ends:
            log.info("feed of %s ended: %r", connection.name or "a stranger", ends.exceptions[0])
        except* Exception:  # one gateway's connection must not end the others'
            log.exception("feed of %s failed", connection.name or "a stranger")
        finally:
            await lines.close()
        cancellation.pass_on()
        if self._speaking.get(connection.name) is connection:
            await self._keep_lease(connection)

    def _register(self, connection: _Connection) -> None:
        before = self._speaking.get(connection.name)
        if before is not None:
            before.superseded = True  # what it still says must not count for its successor
        self._speaking[connection.name] = connection
        self._source.registered(connection.name, connection.role, connection.instance)

    async def _keep_lease(self, connection: _Connection) -> None:
        """Gives the name up when no successor came within what is left of the lease."""
        await asyncio.sleep(connection.lease_left_s())
        if self._speaking.get(connection.name) is connection:
            del self._speaking[connection.name]
            self._source.lost(connection.name)


class _Connection:
    """One gateway's connection, from its greeting to its end."""

    def __init__(self, lines: Lines, source: FeedSource, lease_s: float, beat_s: float) -> None:
        self.name = self.role = self.instance = ""
        self._lines = lines
        self._source = source
        self._lease_s = lease_s
        self._beat_s = beat_s
        self._asks = 0
        self._heard = asyncio.get_running_loop().time()
        self.superseded = False

    def lease_left_s(self) -> float:
        return max(0.0, self._heard + self._lease_s - asyncio.get_running_loop().time())

    async def greet(self) -> None:
        hello = (await self._hear()).get("hello")
        if not isinstance(hello, dict) or hello.get("v") != FEED_VERSION or not hello.get("name"):
            raise ConnectionError(f"not a greeting of feed version {FEED_VERSION}")
        self.name, self.role, self.instance = (str(hello.get(word, "")) for word in ("name", "role", "instance"))
        await self._lines.write({"welcome": {"lease_s": self._lease_s, "epoch": self._source.epoch}})

    async def talk(self) -> None:
        """Serves the gateway until the connection ends, which always raises."""
        async with asyncio.TaskGroup() as group:
            orders: asyncio.Queue[int | None] = asyncio.Queue(maxsize=16)
            group.create_task(self._push(orders))
            group.create_task(self._cut())
            while True:
                await self._obey(await self._hear(), orders, group)

    async def _hear(self) -> dict[str, Any]:
        async with asyncio.timeout(self._lease_s):
            message = await self._lines.read()
        if self.superseded:
            raise ConnectionError("another process of the same name took over")
        self._heard = asyncio.get_running_loop().time()
        return message

    async def _obey(self, message: dict[str, Any], orders: asyncio.Queue[int | None], group: asyncio.TaskGroup) -> None:
        match message:
            case {"ack": int(revision)}:
                self._source.acknowledged(self.name, revision)
            case {"list": {}}:
                await orders.put(None)
            case {"watch": {"from": int(revision)}}:
                await orders.put(revision)
            case {"report": {"ports": dict(failed)}}:
                self._source.ports(self.name, {int(port): str(why) for port, why in failed.items()})
            case {"report": {"visits": dict(report)}}:
                self._source.visits(self.name, decode_report(report))
            case {"report": {"metrics": str(text)}}:
                self._source.metrics(self.name, text)
            case {"ask": {"id": int(number), "question": str(question), **arguments}}:
                plain = {str(word): value for word, value in arguments.items()}
                await self._take_ask(number, question, plain, group)
            case _:
                raise ConnectionError("a message that is not of the feed")

    async def _take_ask(self, number: int, question: str, arguments: dict[str, Any], group: asyncio.TaskGroup) -> None:
        if self._asks < ASKS_LIMIT:
            self._asks += 1
            group.create_task(self._answer(number, question, arguments))
        else:
            await self._lines.write({"answer": {"id": number, "ok": False, "code": "rate_limited"}})

    async def _answer(self, number: int, question: str, arguments: dict[str, Any]) -> None:
        try:
            answer = await self._source.answer(Question(question), arguments)
        except ValueError:
            answer = {"ok": False, "code": "bad_request"}
        finally:
            self._asks -= 1
        await self._lines.write({"answer": {"id": number, **answer}})

    async def _push(self, orders: asyncio.Queue[int | None]) -> None:
        """Lists or watches, as the last order says; a new order ends the watch."""
        order = await orders.get()
        while True:
            if order is None:
                await self._list()
                order = await orders.get()
            else:
                order = await self._watch(order, orders)

    async def _cut(self) -> None:
        """Passes on which visits to cut."""
        while True:
            await self._lines.write({"cut": {"visits": await self._source.cuts(self.name)}})

    async def _list(self) -> None:
        async for records, revision, last in self._source.slices():
            await self._send_slice(records, revision, last)

    async def _send_slice(self, records: list[Encoded], revision: int, last: bool) -> None:
        try:
            await self._lines.write_line(slice_line(records, revision, last=last))
        except LineTooLongError:
            middle = len(records) // 2
            if not middle:
                raise
            await self._send_slice(records[:middle], revision, last=False)
            await self._send_slice(records[middle:], revision, last)

    async def _watch(self, revision: int, orders: asyncio.Queue[int | None]) -> int | None:
        """Sends changes, or a sign of life when nothing changed for a beat; returns the next order."""
        quiet = True  # the first message tells where we are, even when nothing changed
        while orders.empty():
            changes = await self._source.changes_after(revision, SLICE_RECORDS)
            if changes is None:
                await self._lines.write({"gone": True})
                break
            if changes or quiet:
                await self._send_changes(changes, revision)
            revision = changes[-1].revision if changes else revision
            quiet = not changes and not await self._news(revision)
        return await orders.get()

    async def _news(self, revision: int) -> bool:
        """Whether something newer came within a beat."""
        try:
            async with asyncio.timeout(self._beat_s):
                await self._source.wait_for(revision)
        except TimeoutError:
            return False
        return True

    async def _send_changes(self, changes: list[Change], revision: int) -> None:
        newest = changes[-1].revision if changes else revision
        try:
            await self._lines.write({"changes": [encode_change(change) for change in changes], "revision": newest})
        except LineTooLongError:
            middle = len(changes) // 2
            if not middle:
                raise
            await self._send_changes(changes[:middle], revision)
            await self._send_changes(changes[middle:], revision)
