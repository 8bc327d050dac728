"""An HTTP/2 client that says whatever a test wants, also what no client should."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.settings import SettingCodes, Settings
from hyperframe.frame import Frame, GoAwayFrame

from tests.gateway import tls_client
from tests.gateway.entries.http.house import DEADLINE_S, House

Headers = list[tuple[str, str]]


class Patient(H2Connection):
    """Goes on after a GOAWAY, as browsers do."""

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        told = ConnectionTerminated()
        told.error_code, told.last_stream_id = frame.error_code, frame.last_stream_id
        return [], [told]


class Client:
    """One connection. `acknowledges` False: windows stay as they are, so that whoever sends has to wait."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, authority: str) -> None:
        self.reader, self.writer, self.authority = reader, writer, authority
        self.acknowledges = True
        self.h2 = Patient(
            H2Configuration(
                client_side=True,
                header_encoding="latin-1",
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=True,
            )
        )
        self.heads: dict[int, dict[str, str]] = {}
        self.interim: dict[int, list[str]] = defaultdict(list)
        self.bodies: dict[int, bytearray] = defaultdict(bytearray)
        self.trailers: dict[int, dict[str, str]] = {}
        self.ended: set[int] = set()
        self.resets: dict[int, int] = {}
        self.goaways: list[ConnectionTerminated] = []
        self.closed = False

    async def flush(self) -> None:
        """Sends what waits."""
        self.writer.write(self.h2.data_to_send())
        await self.writer.drain()

    def head(self, method: str = "GET", path: str = "/", *more: tuple[str, str]) -> Headers:
        """A request's fields."""
        pseudo = [(":method", method), (":scheme", "https"), (":authority", self.authority), (":path", path)]
        return [*pseudo, *more]

    async def ask(
        self, method: str = "GET", path: str = "/", *more: tuple[str, str], body: bytes | None = None, end: bool = True
    ) -> int:
        """Opens a stream with a request."""
        return await self.ask_with(self.head(method, path, *more), body=body, end=end)

    async def ask_with(self, headers: Sequence[tuple[Any, Any]], *, body: bytes | None = None, end: bool = True) -> int:
        """Opens a stream with these very fields."""
        number = self.h2.get_next_available_stream_id()
        self.h2.send_headers(number, headers, end_stream=end and body is None)
        if body is not None:
            self.h2.send_data(number, body, end_stream=end)
        await self.flush()
        return number

    async def more(self) -> bool:
        """Takes what comes next; False at the end of the connection."""
        try:
            data = await self.reader.read(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.closed = True
            return False
        for event in self.h2.receive_data(data):
            self._take(event)
        with contextlib.suppress(ConnectionError):  # told when the next is read
            await self.flush()
        return True

    async def until(self, what: Any) -> None:
        """Goes on until `what()` holds. Raises TimeoutError, and ConnectionError at the connection's end."""
        async with asyncio.timeout(DEADLINE_S):
            while not what():
                if not await self.more():
                    if what():
                        return
                    raise ConnectionResetError("the connection ended")

    async def answer(self, number: int) -> tuple[str, bytes]:
        """Status and body of a stream's whole response. Raises ConnectionResetError for a stream that was reset."""
        await self.until(lambda: number in self.ended or number in self.resets)
        if number not in self.ended:
            raise ConnectionResetError(f"stream reset: {self.resets[number]}")
        return self.heads[number][":status"], bytes(self.bodies[number])

    async def end(self) -> None:
        """Waits for the end of the connection."""
        async with asyncio.timeout(DEADLINE_S):
            while await self.more():
                pass

    def _take(self, event: Event) -> None:
        match event:
            case InformationalResponseReceived():
                self.interim[event.stream_id].append(str(dict(event.headers)[":status"]))
            case ResponseReceived():
                self.heads[event.stream_id] = joined(event.headers)
            case TrailersReceived():
                self.trailers[event.stream_id] = joined(event.headers)
            case DataReceived():
                self.bodies[event.stream_id] += event.data or b""
                if self.acknowledges and event.flow_controlled_length:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                self.ended.add(event.stream_id)
            case StreamReset():
                self.resets[event.stream_id] = int(event.error_code or 0)
            case ConnectionTerminated():
                self.goaways.append(event)
            case _:
                pass


def joined(headers: Any) -> dict[str, str]:
    """The fields by name; several of one name, a line each."""
    values: dict[str, str] = {}
    for name, value in headers:
        values[name] = f"{values[name]}\n{value}" if name in values else value
    return values


@asynccontextmanager
async def client(house: House, *, name: str | None = None, window: int | None = None) -> AsyncIterator[Client]:
    """A connection to the front, asking TLS for the entry's host or `name`; `window` is that of each stream."""
    context = tls_client.client_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", house.port, ssl=context, server_hostname=name or house.entry.host
    )
    spoken = writer.get_extra_info("ssl_object")
    assert isinstance(spoken, ssl.SSLObject)
    assert spoken.selected_alpn_protocol() == "h2"
    made = Client(reader, writer, house.host)
    if window is not None:
        made.h2.local_settings = Settings(client=True, initial_values={SettingCodes.INITIAL_WINDOW_SIZE: window})
    made.h2.initiate_connection()
    await made.flush()
    try:
        yield made
    finally:
        writer.transport.abort()
