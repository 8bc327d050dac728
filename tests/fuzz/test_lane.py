"""The short ways of a request beside the long one: the same bytes on both sides.

The same conversation is held twice with the same app, once with the short ways (`gateway/entries/http/lane.py` within
a connection, `gateway/entries/http/errand.py` on connections of their own) and once without: whatever people and apps
say, in whatever pieces it comes, nobody may be able to tell which way it went.
"""

from __future__ import annotations

import asyncio
import tempfile
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.core import http1
from gateway.core.bodies import response_body
from gateway.entries.http.errand import Errands
from gateway.entries.http.lane import Lane
from tests.gateway.entries.http.house import Peer, crlf, open_house, visit

DEADLINE_S = 5.0
TOKEN = "X-Starlight-Token: sl_alice\n"


@dataclass(frozen=True)
class Exchange:
    """One request and what the app does: its bytes, cut where they are cut, and whether it ends then."""

    request: bytes
    answer: bytes
    cuts: tuple[int, ...] = ()
    ends: bool = False


@dataclass
class Heard:
    """What each side heard, without what the way could not help: `cut` when the answer broke off."""

    by_app: list[bytes]
    by_person: list[bytes]
    cut: bool = False


TARGETS = ["/", "/a?b=1;c", "/%zz", "//x", "/.starlight/jwks.json", "*", "/" + "l" * 3000, "http://HOST/abs"]
FIELDS = [
    "", "A: b\n", "Cookie: theme=dark; starlight_entry=x\n", "Connection: keep-alive, a\nA: b\n",
    "X-Forwarded-For: 1.2.3.4\n", "Expect: 100-continue\n", "TE: trailers\n", "Range: bytes=0-1\n", "X_Y: z\n",
]  # fmt: skip
METHODS = ["GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "get"]
VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0"]
ANSWERS = [
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "HTTP/1.1 200 OK\nContent-Length: 0\nSet-Cookie: a=b; Domain=x.y\nSet-Cookie: starlight_entry=1\n\n",
    "HTTP/1.1 404 Not Found\ncontent-length: 300\nX-A: \x80\n\n" + "n" * 300,
    "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n0\nT: u\n\n",
    "HTTP/1.1 204 No Content\n\n",
    "HTTP/1.1 304 Not Modified\nContent-Length: 7\n\n",
    "HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nContent-Length: 1\n\nx",
    "HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nok",
    "HTTP/1.0 200 OK\nContent-Length: 2\n\nok",
    "HTTP/1.1 200 OK\nContent-Length: 2\nKeep-Alive: timeout=5\nConnection: keep-alive\n\nok",
    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok and more",
    "HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\nok",
    "HTTP/1.1 200 OK\nContent-Length: 9\n\nshort",
    "HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: upgrade\n\n",
    "nothing like HTTP\n\n",
    "",
]
WITHOUT_END = {answer for answer in ANSWERS if "short" in answer or answer in ("", "nothing like HTTP\n\n")}


@st.composite
def exchanges(draw: st.DrawFn, always: str) -> list[Exchange]:
    """Mostly GETs that repeat each other's fields word for word, as browsers' do, and answers that are one whole."""
    common, usually = draw(st.sampled_from(FIELDS)), st.sampled_from([True, True, True, False])
    made = []
    for _ in range(draw(st.integers(2, 6))):
        method, version, fields = "GET", "HTTP/1.1", common
        if not draw(usually):
            method, version = draw(st.sampled_from(METHODS)), draw(st.sampled_from(VERSIONS))
            fields = draw(st.sampled_from(FIELDS))
        target = draw(st.sampled_from(TARGETS[:4] if draw(usually) else TARGETS))
        body = "Content-Length: 3\n\nabc" if method == "POST" else "\n"
        answer = draw(st.sampled_from(ANSWERS[:4] if draw(usually) else ANSWERS))
        cuts = () if draw(usually) else tuple(sorted(draw(st.lists(st.integers(1, 60), max_size=2))))
        ends = answer in WITHOUT_END or not (draw(usually) or draw(usually))
        start = f"{method} {target} {version}\nHost: HOST\n{TOKEN}{always}"
        made.append(Exchange(crlf(start + fields + body), crlf(answer), cuts, ends))
    return made


@pytest.mark.parametrize("apart", [False, True], ids=["on one connection", "on connections of their own"])
@pytest.mark.parametrize("examples", [25, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.timeout(600)
def test_nobody_can_tell_the_short_way_from_the_long_one(apart: bool, examples: int) -> None:
    """What the app hears and what the person hears are the same bytes by both."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(exchanges("Connection: close\n" if apart else ""))
    def compare(said: list[Exchange]) -> None:
        short, long = (asyncio.run(hold(said, apart=apart, short=short)) for short in (True, False))
        agree(short, long)

    compare()


def agree(short: Heard, long: Heard) -> None:
    """Both sides heard the same."""
    assert short.by_app == long.by_app
    assert short.by_person == long.by_person
    assert short.cut == long.cut


async def hold(said: list[Exchange], *, apart: bool, short: bool) -> Heard:
    """The exchanges on one connection for as long as it stands, or each on its own."""
    heard, answering = Heard([], []), list[Exchange]()

    async def app(reader: Reader, writer: Writer) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            heard.by_app.append(head + (await reader.readexactly(3) if b"\r\nContent-Length: 3" in head else b""))
            exchange = answering[0]
            for begin, end in zip((0, *exchange.cuts), (*exchange.cuts, len(exchange.answer)), strict=True):
                writer.write(exchange.answer[begin:end])
                await asyncio.sleep(0.001 if exchange.cuts else 0)
            if exchange.ends:
                return

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        if not short:
            patch.setattr(Lane, "open", lambda _: None)
            patch.setattr(Errands, "begin", lambda *_: None)
        async with open_house(Path(folder), app) as house, AsyncExitStack() as stack:
            peer = await stack.enter_async_context(visit(house))
            for exchange in said:
                answering[:] = [exchange]
                if apart:
                    peer = await stack.enter_async_context(visit(house))
                await peer.send(exchange.request.replace(b"HOST", house.host.encode()))
                if not await listen(peer, exchange.request.split(b" ")[0], heard) and not apart:
                    break
            port = str(house.port).encode()
    for words in (heard.by_app, heard.by_person):
        words[:] = [word.replace(port, b"PORT") for word in words]
    return heard


async def listen(peer: Peer, method: bytes, heard: Heard) -> bool:
    """The next answer, interim ones before it; whether the connection stands after it."""
    try:
        async with asyncio.timeout(DEADLINE_S):
            while True:
                head = await peer.reader.readuntil(b"\r\n\r\n")
                heard.by_person.append(head)
                answer = http1.parse_response(head)
                if answer.status >= 200:
                    break
                if answer.status == http1.SWITCHING:
                    return False
            body, content = response_body(answer, method), b""
            while not body.done:
                data = await peer.reader.read(1 if not body.ends_with_connection else 1 << 16)
                if not data:
                    heard.cut = not body.ends_with_connection
                    break
                body.feed(data)
                content += data
            heard.by_person.append(content)
            return not heard.cut and http1.keeps_alive(answer) and not body.ends_with_connection
    except (asyncio.IncompleteReadError, ConnectionResetError):
        heard.cut = True
        return False
