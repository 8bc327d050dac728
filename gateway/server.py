"""The composition root of a gateway process: feed first, then listeners, and an orderly end.

The process listens only once it has a snapshot (control's, or the copy on disk), tells the
supervisor that it is ready, and follows the table. On SIGTERM, or when the supervisor is gone, it
accepts no more, lets open visits go on for a while, and then cuts them with a sentence.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
from collections.abc import Callable
from typing import Final

from gateway import clock, garbage
from gateway.config import GatewayConfig
from gateway.core.refusals import Code
from gateway.core.table import Table
from gateway.feed.disk import Disk
from gateway.feed.feed import Feed, Reports
from gateway.feed.socket import connected
from gateway.listeners import Listeners, patiently
from gateway.ports import RandomPorts
from gateway.serving import Services, Serving
from gateway.wire import journal
from gateway.wire.access_log import AccessLog
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.gate import Gate
from gateway.wire.metrics import Metrics
from gateway.wire.report import Told
from gateway.wire.tally import Tally
from gateway.wire.visits import Visits

log = logging.getLogger(__name__)

_LISTENERS_S: Final = 5.0
_CONNECT_S: Final = 10.0
_LAPSE_S: Final = 1.0


class Server:
    """One gateway process."""

    def __init__(self, config: GatewayConfig, services: Callable[[Gate], Services]) -> None:
        """`services` tells what is served, once the gate is made."""
        self._config = config
        self._table = Table(max_stale_s=config.max_stale_s)
        instance = secrets.token_hex(8)
        self._metrics = Metrics()
        self._access_log = AccessLog(config.state_dir / "log" / f"access-{config.name}.jsonl")
        # A successor of the same name counts anew, and an old visit's id must not name one of its own.
        self._tally = Tally(config.state_dir / "tally", config.name)
        self._visits = Visits(f"{config.name}-{instance[:6]}", tell=self._told, hold=self._tally.hold)
        self._metrics.watch(self._visits, lambda: clock.now() - self._table.confirmed_at)
        self._disk = _disk(config)
        self._feed = Feed(
            self._table,
            lambda: connected(str(config.run_dir / "feed.sock"), deadline_s=_CONNECT_S),
            name=config.name,
            role=config.role,
            instance=instance,
            edited=self._after_edit,
            now=clock.now,
            ask_s=config.ask_s,
            reports=Reports(lambda: Told(self._visits).news, self._metrics.text, self._visits.cut),
        )
        bridge = Bridge(config.run_dir, clock.now)
        bridge.dialled = self._metrics.dials.took
        ask = Ask(self._feed.ask)
        gate = Gate(config, self._table, self._visits, bridge, ask, clock.now, self._metrics, tally=self._tally)
        self._services = services(gate)
        self._listeners = Listeners(config.run_dir)
        self._ports: RandomPorts | None = None
        self._end = asyncio.Event()
        self._drain_s = config.drain_s

    async def run(self) -> None:
        """Serves until SIGTERM, SIGINT, or the end of the supervisor; returns after the drain."""
        self._watch_for_the_end()
        have_snapshot = self._load()
        async with asyncio.TaskGroup() as group:
            works = (self._feed.run(), self._lapse(), self._access_log.keep())
            keeping = [group.create_task(work) for work in works]
            if self._disk is not None:
                keeping.append(group.create_task(self._disk.keep(self._table)))
            if have_snapshot or await self._first_list():
                serving = Serving(group)
                keeping.append(await self._serve(group, serving))
                await self._end.wait()
                log.info("draining: %d visits open", len(self._visits))
                await serving.drain(self._drain_s, lambda: self._visits.cut_all(Code.RESTARTING))
            for task in keeping:
                task.cancel()

    def stop(self, drain_s: float) -> None:
        """Begins the end: open visits may go on for `drain_s` seconds."""
        self._drain_s = min(self._drain_s, drain_s)
        self._end.set()

    def _load(self) -> bool:
        """Puts the disk's snapshot in place; whether there was one."""
        with garbage.kept_waiting():
            copy = None if self._disk is None else self._disk.load()
            if copy is None:
                return False
            self._table.replace(copy.records, copy.revision)
            garbage.keep(len(copy.records))
        self._table.confirm(copy.confirmed_at)
        log.info("serving revision %d from disk until control answers", copy.revision)
        return True

    async def _first_list(self) -> bool:
        """Waits for control's first list; False when the end came before it."""
        async with asyncio.TaskGroup() as group:
            waiting = [group.create_task(self._feed.listed()), group.create_task(self._ended())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
        return not self._end.is_set()

    async def _ended(self) -> None:
        await self._end.wait()

    async def _serve(self, group: asyncio.TaskGroup, serving: Serving) -> asyncio.Task[None]:
        """Starts every service; returns the task that follows the random ports."""
        for name, serve in self._services.fixed.items():
            serving.start(name, await patiently(self._listeners, name, tries_s=_LISTENERS_S), serve)
        self._ports = RandomPorts(
            self._table,
            self._listeners,
            serving,
            services=self._services.random,
            report=self._feed.report_ports,
        )
        await self._listeners.ready()
        log.info("serves revision %d", self._table.revision)
        return group.create_task(self._ports.follow())

    def _told(self, visit: journal.Ended) -> None:
        """A visit has ended."""
        self._access_log.ended(visit)
        self._metrics.ended(visit)

    def _after_edit(self, withdrawn: frozenset[str]) -> None:
        """Cuts what lost its ground, and has ports and disk follow. Awaits nothing: the feed acknowledges next."""
        cut = self._visits.withdraw(withdrawn)
        if cut:
            log.info("withdrawn: %d visits cut", cut)
        if self._ports is not None:
            self._ports.edited()
        if self._disk is not None:
            self._disk.edited()

    async def _lapse(self) -> None:
        """Cuts visits whose session, token or grant ran out of time, and tells siblings that this process lives."""
        while True:
            self._tally.beat(clock.now())
            await asyncio.sleep(_LAPSE_S)
            self._visits.withdraw(self._table.lapse(clock.now()))

    def _watch_for_the_end(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop, self._config.drain_s)
        lifeline = self._config.lifeline_fd
        if lifeline is not None:
            os.set_blocking(lifeline, False)
            loop.add_reader(lifeline, self._read_lifeline, lifeline)

    def _read_lifeline(self, lifeline: int) -> None:
        try:
            if os.read(lifeline, 1):
                return
        except BlockingIOError:
            return
        asyncio.get_running_loop().remove_reader(lifeline)
        log.warning("the supervisor is gone")
        self.stop(self._config.orphan_drain_s)


def _disk(config: GatewayConfig) -> Disk | None:
    if config.feed_key is None:
        return None
    return Disk(config.state_dir / f"{config.name}.feed", config.feed_key)
