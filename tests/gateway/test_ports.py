"""Random ports follow the table; busy ones are reported and tried again."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from gateway.contract.codec import Change
from gateway.contract.routes import PortKind, Protocol
from gateway.core.table import Table
from gateway.listeners import Listeners
from gateway.ports import RandomPorts
from gateway.serving import Serve, Serving
from tests.gateway import world
from tests.gateway.feed.memory import Bell
from tests.gateway.supervisors import free_port, supervisor


class World:
    """A table whose random ports are followed; says who serves what, and what was reported."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.table = Table()
        self.serving: set[tuple[Protocol, int]] = set()
        self.reports: list[dict[int, str]] = []
        self.ports: RandomPorts

    async def report(self, failed: Mapping[int, str]) -> None:
        """Notes a report."""
        self.reports.append(dict(failed))
        self.bell.ring()

    def service(self, protocol: Protocol) -> Callable[[int], Serve]:
        """A service that notes while it runs."""

        def on(port: int) -> Serve:
            async def serve(listener: socket.socket) -> None:
                assert listener.getsockname()[1] == port
                self.serving.add((protocol, port))
                self.bell.ring()
                try:
                    await asyncio.Event().wait()
                finally:
                    self.serving.discard((protocol, port))
                    self.bell.ring()

            return serve

        return on

    def put(self, entry_id: int, port: int, protocol: Protocol = Protocol.TCP) -> None:
        """An entry with a random port appears or changes."""
        entry = world.entry(entry_id, port=port, protocol=protocol, port_kind=PortKind.RANDOM)
        self._edit(str(entry_id), entry)

    def drop(self, entry_id: int) -> None:
        """An entry goes."""
        self._edit(str(entry_id), None)

    async def serves(self, *places: tuple[Protocol, int]) -> None:
        """Returns once exactly these are served."""
        async with asyncio.timeout(5):
            await self.bell.until(lambda: self.serving == set(places))

    async def reported(self, failed: dict[int, str]) -> None:
        """Returns once this is the last report."""
        async with asyncio.timeout(5):
            await self.bell.until(lambda: bool(self.reports) and self.reports[-1] == failed)

    def _edit(self, key: str, entry: object) -> None:
        self.table.apply(Change(self.table.revision + 1, "entry", key, entry))  # type: ignore[arg-type]  # an entry
        self.ports.edited()


@asynccontextmanager
async def followed(run_dir: Path, mine: World) -> AsyncIterator[None]:
    """The table's tcp and http ports are followed for as long as the block."""
    async with asyncio.TaskGroup() as group:
        serving = Serving(group)
        mine.ports = RandomPorts(
            mine.table,
            Listeners(run_dir),
            serving,
            services={protocol: mine.service(protocol) for protocol in (Protocol.TCP, Protocol.HTTP)},
            report=mine.report,
            retry_s=0.05,
        )
        task = group.create_task(mine.ports.follow())
        yield
        task.cancel()
        await serving.drain(1, lambda: None)


async def test_ports_come_and_go_with_their_entries(tmp_path: Path) -> None:
    """An entry's port is served while the entry is there; other roles' entries are left alone."""
    first, second, ssh = free_port(), free_port(), free_port()
    mine = World()
    async with supervisor(tmp_path), followed(tmp_path, mine):
        mine.put(1, first)
        mine.put(2, second, Protocol.HTTP)
        mine.put(3, ssh, Protocol.SSH)
        await mine.serves((Protocol.TCP, first), (Protocol.HTTP, second))
        mine.drop(1)
        await mine.serves((Protocol.HTTP, second))


async def test_a_changed_protocol_changes_the_service(tmp_path: Path) -> None:
    """The same port, another way to speak on it."""
    port, mine = free_port(), World()
    async with supervisor(tmp_path), followed(tmp_path, mine):
        mine.put(1, port)
        await mine.serves((Protocol.TCP, port))
        mine.put(1, port, Protocol.HTTP)
        await mine.serves((Protocol.HTTP, port))


async def test_a_busy_port_is_reported_and_tried_again(tmp_path: Path) -> None:
    """Control shows who holds it; once it is free it is served, and the report taken back."""
    port, mine = free_port(), World()
    async with supervisor(tmp_path) as held, followed(tmp_path, mine):
        held.busy[port] = "taken by sshd"
        mine.put(1, port)
        await mine.reported({port: "taken by sshd"})
        del held.busy[port]
        await mine.reported({})
        await mine.serves((Protocol.TCP, port))


async def test_a_supervisor_that_is_away_is_reported_too(tmp_path: Path) -> None:
    """The port is tried again until the supervisor answers."""
    port, mine = free_port(), World()
    async with followed(tmp_path, mine):
        mine.put(1, port)
        await mine.reported({port: "unavailable"})
        async with supervisor(tmp_path):
            await mine.serves((Protocol.TCP, port))
