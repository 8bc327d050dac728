"""A gateway's http front with real sockets on every side: a person, a bridge, and an app that a test scripts.

`open_house` serves entry 17 (Alice's, private unless told otherwise) on a port of its own; its app is
whatever coroutine the test hands in, talking raw bytes.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gateway.config import GatewayConfig, Role
from gateway.contract import calls
from gateway.contract.bridge import Call, Fault, Reply, decode_call, encode_reply
from gateway.contract.codec import Record
from gateway.contract.feed import Question
from gateway.contract.people import Session
from gateway.contract.routes import Certificate, Entry, Level, Protocol
from gateway.core.tickets import Purpose, token_digest
from gateway.entries.http import serve
from gateway.wire.ask import Ask
from gateway.wire.bridge import Bridge
from gateway.wire.gate import Gate
from gateway.wire.visits import Visits
from tests.gateway import world

BEARER = "sl_alice"
BOBS_BEARER = "sl_bob"
DEADLINE_S = 10.0

App = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class House:
    """What a test can reach: the gate, its records, the entry, and how often the app was dialled."""

    gate: Gate
    entry: Entry
    port: int
    run_dir: Path
    scheme: Literal["http", "https"] = "http"
    calls: list[Call] = field(default_factory=list)
    fault: Fault | None = None
    answers: dict[Question, dict[str, Any] | None] = field(default_factory=dict)
    questions: list[dict[str, Any]] = field(default_factory=list)
    stop: Callable[[], object] = lambda: None
    shell: Callable[[], socket.socket] | None = None
    app_address: tuple[str, int] = ("", 0)

    @property
    def host(self) -> str:
        """The entry's host as a browser writes it."""
        return f"{self.entry.host}:{self.port}"

    def ticket(self, session_id: str = "s1", user_id: int = 1, *, expires: float = world.NOW + 100) -> str:
        """A good entry cookie, name and value."""
        payload = {"user_id": user_id, "session_id": session_id, "entry_id": self.entry.id, "expires": expires}
        name = "__Host-starlight_entry" if self.scheme == "https" else "starlight_entry"
        return f"{name}={self.gate.seal(Purpose.ENTRY_TICKET, payload)}"

    def change(self, record: Record) -> None:
        """Puts a record as the feed would, withdrawing what it withdraws."""
        from gateway.contract.codec import Change, key_of, kind_of

        change = Change(self.gate.table.revision + 1, kind_of(record), key_of(record), record)
        self.gate.visits.withdraw(self.gate.table.apply(change))

    def remove(self, record: Record) -> None:
        """Takes a record away as the feed would."""
        from gateway.contract.codec import Change, key_of, kind_of

        change = Change(self.gate.table.revision + 1, kind_of(record), key_of(record), None)
        self.gate.visits.withdraw(self.gate.table.apply(change))


@dataclass
class Peer:
    """A raw client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes | str) -> None:
        """Sends bytes as they are; text has its line ends made CRLF."""
        self.writer.write(crlf(data) if isinstance(data, str) else data)
        await self.writer.drain()

    async def head(self) -> bytes:
        """The next response's head."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.reader.readuntil(b"\r\n\r\n")

    async def exactly(self, count: int) -> bytes:
        """The next bytes."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.reader.readexactly(count)

    async def rest(self) -> bytes:
        """Everything up to the orderly end. Raises ConnectionResetError for a cut."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.reader.read()

    async def response(self) -> tuple[int, bytes, bytes]:
        """Status, head and body (by Content-Length) of the next response."""
        head = await self.head()
        length = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), b":0")
        return int(head.split()[1]), head, await self.exactly(int(length.partition(b":")[2]))


def crlf(text: str) -> bytes:
    """The text with its line ends as HTTP has them."""
    return text.replace("\n", "\r\n").encode("latin-1")


@asynccontextmanager
async def open_house(
    run_dir: Path,
    app: App,
    *records: Record,
    level: Level = Level.PRIVATE,
    scheme: Literal["http", "https"] = "http",
    console: bool = False,
    config: dict[str, Any] | None = None,
    entry: dict[str, Any] | None = None,
) -> AsyncIterator[House]:
    """The front, a bridge and the app, all of which end with the block."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        calls.listen(str(run_dir / "bridge-local.sock")) as bridge,
    ):
        house = _house(run_dir, listener.getsockname()[1], scheme, level, records, config or {}, entry or {})
        server = await asyncio.start_server(tidy(app), "127.0.0.1", 0)
        async with server, asyncio.TaskGroup() as group:
            house.app_address = server.sockets[0].getsockname()
            tasks = [
                group.create_task(calls.serve(bridge, _bridging(house), deadline_s=5)),
                group.create_task(serve(house.gate, listener, scheme=scheme, port=house.port, console=console)),
            ]
            house.stop = tasks[1].cancel
            try:
                yield house
            finally:
                for task in tasks:
                    task.cancel()


def _house(
    run_dir: Path,
    port: int,
    scheme: Literal["http", "https"],
    level: Level,
    records: tuple[Record, ...],
    config: dict[str, Any],
    entry: dict[str, Any],
) -> House:
    protocol = Protocol.HTTPS if scheme == "https" else Protocol.HTTP
    ours = world.entry(protocol=protocol, level=level, port=port, **entry)
    settings: dict[str, Any] = {"https_port": port if scheme == "https" else 1, "drain_s": 0.2} | config
    conf = GatewayConfig(Role.WEB, "web-0", run_dir, run_dir, run_dir, **settings)
    sessions = [
        Session("s1", 1, token_digest(BEARER), world.NOW + 3600),
        Session("s2", 2, token_digest(BOBS_BEARER), world.NOW + 3600),
    ]
    table = world.table(world.job(), ours, world.SECRET, *sessions, *records)  # a later record replaces an earlier
    house = House(None, ours, port, run_dir, scheme)  # type: ignore[arg-type] # the gate asks the house
    house.gate = Gate(
        conf, table, Visits("web-0"), Bridge(run_dir, lambda: world.NOW), Ask(_asking(house)), lambda: world.NOW
    )
    return house


@asynccontextmanager
async def visit(house: House, **options: Any) -> AsyncIterator[Peer]:
    """A raw connection to the front."""
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port, **options)
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()


@contextmanager
def blocking(house: House) -> Iterator[socket.socket]:
    """A plain socket to the front, for what streams hide (resets)."""
    with socket.create_connection(("127.0.0.1", house.port), timeout=DEADLINE_S) as sock:
        yield sock


def certificate(chain_pem: str, key_pem: str, *names: str, default: bool = True) -> Certificate:
    """A certificate record."""
    return Certificate("c1", names, chain_pem, key_pem, default)


def _asking(house: House) -> Callable[[Question, dict[str, Any]], Awaitable[dict[str, Any] | None]]:
    async def ask(question: Question, arguments: dict[str, Any]) -> dict[str, Any] | None:
        house.questions.append(arguments)
        return house.answers.get(question)

    return ask


def _bridging(house: House) -> calls.Handler:
    async def handle(message: bytes, _: calls.Peer) -> calls.Answer:
        house.calls.append(decode_call(message))
        if house.fault is not None:
            return encode_reply(Reply(fault=house.fault)), []
        if house.shell is not None:
            return encode_reply(Reply()), [house.shell().detach()]
        sock = socket.create_connection(house.app_address)
        sock.setblocking(False)
        return encode_reply(Reply()), [sock.detach()]

    return handle


def tidy(app: App) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """The app with its connection closed at the end, and the gateway's cuts taken calmly."""

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await app(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return run
