"""An app that speaks HTTP/2: requests and responses cross over, and its faults are told as those of any app."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, TrailersReceived
from hyperframe.frame import GoAwayFrame

from gateway.contract.routes import AppProtocol, Level
from gateway.entries.http2 import peer
from tests.gateway.entries.http.house import App, House, open_house, visit
from tests.gateway.entries.http2.client import client, joined
from tests.gateway.entries.http2.house import echo_heads, holds, open_https_house

Respond = Callable[[H2Connection, int, dict[str, str], bytes], object]


class Heard:
    """What the app heard: heads, bodies, trailers and resets."""

    def __init__(self) -> None:
        self.heads: list[dict[str, str]] = []
        self.trailers: list[dict[str, str]] = []
        self.resets: list[int] = []
        self.connections = 0
        self.received = 0


def h2_app(heard: Heard, respond: Respond, *, acknowledges: bool = True) -> App:
    """Calls `respond` with each whole request."""

    async def app(reader: Reader, writer: Writer) -> None:
        heard.connections += 1
        h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        h2.initiate_connection()
        bodies: dict[int, bytes] = {}
        writer.write(h2.data_to_send())
        while data := await reader.read(65536):
            for event in h2.receive_data(data):
                match event:
                    case RequestReceived():
                        heard.heads.append(joined(event.headers))
                        bodies[event.stream_id] = b""
                    case DataReceived():
                        bodies[event.stream_id] += event.data or b""
                        heard.received += len(event.data or b"")
                        if acknowledges and event.flow_controlled_length:
                            h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    case TrailersReceived():
                        heard.trailers.append(joined(event.headers))
                    case StreamReset():
                        heard.resets.append(int(event.error_code or 0))
                    case StreamEnded():
                        respond(h2, event.stream_id, heard.heads[-1], bodies.pop(event.stream_id))
            writer.write(h2.data_to_send())
            await writer.drain()

    return app


def ok(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
    """The path and a short body, or the length of a long one; the end in a frame of its own."""
    said = head[":path"].encode() + (body if len(body) < 100 else b"%d" % len(body))
    h2.send_headers(number, [(":status", "200"), ("content-length", str(len(said)))])
    h2.send_data(number, said)
    h2.end_stream(number)


@asynccontextmanager
async def h2c_house(tmp_path: Path, app: App, **more: Any) -> AsyncIterator[House]:
    """An open https entry whose app speaks h2c."""
    async with open_https_house(tmp_path, app, **more) as house:
        house.change(replace(house.entry, target=replace(house.entry.target, app_protocol=AppProtocol.H2C)))
        yield house


async def test_requests_follow_one_another_on_one_connection(tmp_path: Path) -> None:
    """Each a stream of its own; the app is told that trailers are welcome, and the truth about the person."""
    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, ok), level=Level.PRIVATE) as house, client(house) as person:
        ticket = ("cookie", house.ticket())
        for number in range(3):
            assert await person.answer(await person.ask("GET", f"/{number}", ticket)) == ("200", b"/%d" % number)
        assert heard.connections == 1
        head = heard.heads[0]
        assert head[":authority"] == house.host and head[":scheme"] == "http" and head["te"] == "trailers"
        assert head["x-starlight-user"] == "alice" and "cookie" not in head and "host" not in head


async def test_a_body_and_its_trailers_go_to_the_app(tmp_path: Path) -> None:
    """Whole, and with a length when one was announced."""
    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, ok)) as house, client(house) as person:
        content = bytes(range(256)) * 1500
        number = await person.ask("POST", "/", end=False)
        at = 0
        while at < len(content):
            room = min(person.h2.local_flow_control_window(number), 16384, len(content) - at)
            if room:
                person.h2.send_data(number, content[at : at + room])
                at += room
                await person.flush()
            else:
                assert await person.more()
        person.h2.send_headers(number, [("x-check", "7")], end_stream=True)
        await person.flush()
        assert await person.answer(number) == ("200", b"/%d" % len(content))
        assert heard.trailers == [{"x-check": "7"}]
        announced = await person.ask("POST", "/", ("content-length", "3"), body=b"abc")
        assert await person.answer(announced) == ("200", b"/abc")
        assert heard.heads[-1]["content-length"] == "3"


async def test_unsafe_requests_share_a_connection_too(tmp_path: Path) -> None:
    """Each gRPC call is a POST: a new connection for each would be most of its time."""
    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, ok), level=Level.PRIVATE) as house, client(house) as person:
        for _ in range(3):
            number = await person.ask("POST", "/", ("cookie", house.ticket()), body=b"abc")
            assert await person.answer(number) == ("200", b"/abc")
        assert heard.connections == 1


async def test_an_unsafe_request_is_not_sent_twice(tmp_path: Path) -> None:
    """An app that ends the connection on it may have done what was asked: 502, and the next one is served."""
    heard = Heard()

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        if number == 3:
            raise ConnectionResetError
        ok(h2, number, head, body)

    async with h2c_house(tmp_path, h2_app(heard, respond), level=Level.PRIVATE) as house, client(house) as person:
        statuses = []
        for _ in range(3):
            number = await person.ask("POST", "/", ("cookie", house.ticket()), body=b"abc")
            statuses.append((await person.answer(number))[0])
        assert statuses == ["200", "502", "200"]
        assert (heard.connections, len(heard.heads)) == (2, 3)


async def test_an_http1_person_reaches_it_as_well(tmp_path: Path) -> None:
    """Trailers and all."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2.send_headers(number, [(":status", "103"), ("link", "</a>")])
        h2.send_headers(number, [(":status", "200"), ("set-cookie", "a=1"), ("set-cookie", "b=2")])
        h2.send_data(number, b"abc")
        h2.send_headers(number, [("grpc-status", "0")], end_stream=True)

    heard = Heard()
    async with open_house(tmp_path, h2_app(heard, respond), level=Level.OPEN) as house, visit(house) as person:
        house.change(replace(house.entry, target=replace(house.entry.target, app_protocol=AppProtocol.H2C)))
        await person.send(f"GET /x HTTP/1.1\nHost: {house.host}\n\n")
        assert await person.head() == b"HTTP/1.1 103 \r\nLink: </a>\r\n\r\n"
        assert await person.head() == (
            b"HTTP/1.1 200 \r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        assert await person.exactly(29) == b"3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("method", "fields", "status"),
    [("GET", [], "204"), ("GET", [("etag", '"x"')], "304"), ("HEAD", [("content-length", "7")], "200")],
)
async def test_responses_without_content(
    tmp_path: Path, method: str, fields: list[tuple[str, str]], status: str
) -> None:
    """Complete at once; the connection is kept."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2.send_headers(number, [(":status", status), *fields], end_stream=True)

    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, respond)) as house, client(house) as person:
        for _ in range(2):
            number = await person.ask(method)
            assert await person.answer(number) == (status, b"")
            assert all(person.heads[number][name] == value for name, value in fields)


async def test_an_app_that_speaks_another_protocol_is_at_fault(tmp_path: Path) -> None:
    """502, not a word of what it said."""
    async with h2c_house(tmp_path, echo_heads) as house, client(house) as person:
        assert (await person.answer(await person.ask()))[0] == "502"

    async def http1(reader: Reader, writer: Writer) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 6\r\n\r\nsecret")
        await writer.drain()

    second = tmp_path / "second"
    second.mkdir()
    async with h2c_house(second, http1) as house, client(house) as person:
        status, body = await person.answer(await person.ask())
        assert status == "502" and b"secret" not in body


@pytest.mark.parametrize(
    "fields",
    [[(":status", "20")], [(":status", "200"), ("connection", "close")], [(":status", "200"), ("a", "b\r\nc: d")]],
)
async def test_a_malformed_response_is_a_fault(tmp_path: Path, fields: list[tuple[str, str]]) -> None:
    """502; no line end of it reaches HTTP/1.1."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2.config.validate_outbound_headers = False
        h2.config.normalize_outbound_headers = False
        h2.send_headers(number, fields, end_stream=True)

    async with h2c_house(tmp_path, h2_app(Heard(), respond)) as house, client(house) as person:
        assert (await person.answer(await person.ask()))[0] == "502"


async def test_a_response_that_breaks_off_never_looks_complete(tmp_path: Path) -> None:
    """A reset of the app's stream is one of the person's."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2.send_headers(number, [(":status", "200")])
        h2.send_data(number, b"abc")
        h2.reset_stream(number, 2)

    async with h2c_house(tmp_path, h2_app(Heard(), respond)) as house, client(house) as person:
        number = await person.ask()
        with pytest.raises(ConnectionResetError):
            await person.answer(number)
        assert number not in person.ended


async def test_an_app_that_answers_before_it_has_heard_all(tmp_path: Path) -> None:
    """It declines the rest with a reset that is no error: the answer is whole all the same."""

    async def app(reader: Reader, writer: Writer) -> None:
        h2 = H2Connection(H2Configuration(client_side=False))
        h2.initiate_connection()
        writer.write(h2.data_to_send())
        while data := await reader.read(65536):
            for event in h2.receive_data(data):
                if isinstance(event, RequestReceived):
                    h2.send_headers(event.stream_id, [(":status", "413")])
                    h2.send_data(event.stream_id, b"no", end_stream=True)
                    h2.reset_stream(event.stream_id, 0)
            writer.write(h2.data_to_send())

    async with h2c_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask("POST", "/", ("content-length", "100000"), end=False)
        assert await person.answer(number) == ("413", b"no")


async def test_an_app_that_leaves_finishes_what_it_took_on(tmp_path: Path) -> None:
    """The next request goes to a new connection."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2._data_to_send += GoAwayFrame(0, last_stream_id=number).serialize()
        ok(h2, number, head, body)

    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, respond)) as house, client(house) as person:
        for number in range(3):
            assert await person.answer(await person.ask("GET", f"/{number}")) == ("200", b"/%d" % number)
        assert heard.connections == 3


async def test_an_app_that_leaves_without_having_taken_it_on(tmp_path: Path) -> None:
    """The request is lost: 502, unless it may be repeated on another connection."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2._data_to_send += GoAwayFrame(0, last_stream_id=0).serialize()

    async with h2c_house(tmp_path, h2_app(Heard(), respond)) as house, client(house) as person:
        assert (await person.answer(await person.ask("POST", "/", body=b"x")))[0] == "502"


async def test_a_whole_answer_of_an_app_that_is_gone_still_arrives(tmp_path: Path) -> None:
    """It waits for a slow reader."""
    length = 3 * peer.STREAM_WINDOW // 4

    async def app(reader: Reader, writer: Writer) -> None:
        h2 = H2Connection(H2Configuration(client_side=False))
        h2.initiate_connection()
        writer.write(h2.data_to_send())
        begun = False
        while not begun or h2.local_flow_control_window(1) < length:
            for event in h2.receive_data(await reader.read(65536)):
                begun = begun or isinstance(event, RequestReceived)
            writer.write(h2.data_to_send())
        h2.send_headers(1, [(":status", "200")])
        for _ in range(length // 16384):
            h2.send_data(1, bytes(16384))
        h2.end_stream(1)
        writer.write(h2.data_to_send())
        await writer.drain()

    async with h2c_house(tmp_path, app) as house, client(house, window=1000) as person:
        person.acknowledges = False
        number = await person.ask()
        await person.until(lambda: len(person.bodies[number]) == 1000)
        await asyncio.sleep(0.1)
        person.h2.increment_flow_control_window(1 << 20)
        person.h2.increment_flow_control_window(1 << 20, number)
        await person.flush()
        status, body = await person.answer(number)
        assert (status, len(body)) == ("200", length)


async def test_a_person_who_gives_up_cancels_the_apps_stream(tmp_path: Path) -> None:
    """CANCEL, and the end of the connection."""

    def respond(h2: H2Connection, number: int, head: dict[str, str], body: bytes) -> None:
        h2.send_headers(number, [(":status", "200")])
        h2.send_data(number, b"abc")

    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, respond)) as house, client(house) as person:
        number = await person.ask()
        await person.until(lambda: person.bodies[number])
        person.h2.reset_stream(number, 8)
        await person.flush()
        await holds(lambda: heard.resets == [8])


async def test_an_app_whose_window_stays_shut_stops_the_uploader(tmp_path: Path) -> None:
    """What waits for it is bounded."""
    heard = Heard()
    async with h2c_house(tmp_path, h2_app(heard, ok, acknowledges=False)) as house, client(house) as person:
        number = await person.ask("POST", "/", ("content-length", str(1 << 30)), end=False)
        sent = stalled = 0
        while stalled < 10:
            room = min(person.h2.local_flow_control_window(number), 16384)
            if room:
                person.h2.send_data(number, bytes(room))
                sent, stalled = sent + room, 0
                await person.flush()
                continue
            stalled += 1
            try:
                async with asyncio.timeout(0.02):
                    await person.more()
            except TimeoutError:
                continue
        assert heard.received == 65535
        assert sent < 1 << 20


async def test_an_answer_that_trailers_cut_short_breaks_off(tmp_path: Path) -> None:
    """Nobody waits for what will not come, nor takes it for the whole."""

    def short(h2: H2Connection, number: int, _head: dict[str, str], _body: bytes) -> None:
        h2.send_headers(number, [(":status", "200"), ("content-length", "10")])
        h2.send_data(number, b"abc")
        h2.send_headers(number, [("x-check", "7")], end_stream=True)

    async with h2c_house(tmp_path, h2_app(Heard(), short)) as house, client(house) as person:
        with pytest.raises(ConnectionResetError):
            await person.answer(await person.ask())


async def test_a_flood_of_an_app_ends_its_connection(tmp_path: Path) -> None:
    """Jobs are hostile, too."""

    async def app(reader: Reader, writer: Writer) -> None:
        h2 = H2Connection(H2Configuration(client_side=False))
        h2.initiate_connection()
        writer.write(h2.data_to_send() + bytes.fromhex("000008 06 00 00000000 0000000000000000") * 5000)
        await writer.drain()
        await reader.read()
        await asyncio.sleep(5)

    async with h2c_house(tmp_path, app) as house, client(house) as person:
        assert (await person.answer(await person.ask("POST", "/", body=b"x")))[0] == "502"
