"""The short way of repeated requests: what it carries, and what goes the long way after all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.core.http1 import RequestHead
from gateway.entries import http
from gateway.entries.http import lane
from gateway.entries.http.conversation import Conversation
from tests.gateway import world
from tests.gateway.entries.http.house import App, House, Peer, crlf, open_house, visit


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The targets of the requests that went the long way."""
    seen: list[bytes] = []
    plain = Conversation._entry

    async def entry(self: Conversation, head: RequestHead, *more: object) -> bool:
        seen.append(head.target)
        return await plain(self, head, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(Conversation, "_entry", entry)
    return seen


async def echo_heads(reader: Reader, writer: Writer) -> None:
    """An app that answers each request with its head."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)


def then(answer: Callable[[Reader, Writer], object]) -> App:
    """An app that answers `/` plainly and any other target as told."""

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET / "):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            elif answer(reader, writer) is False:
                return

    return app


def get(house: House, path: str = "/", method: str = "GET") -> str:
    """Alice's request, the same fields every time."""
    return f"{method} {path} HTTP/1.1\nHost: {house.host}\nX-Starlight-Token: sl_alice\nX-Mine: 1\n\n"


async def warm(house: House, peer: Peer) -> None:
    """The first request, which goes the long way and teaches."""
    await peer.send(get(house))
    assert (await peer.response())[0] == 200


async def test_repeated_requests_go_the_short_way_with_the_same_bytes(tmp_path: Path, long_way: list[bytes]) -> None:
    """The app gets what it would get by the long way; only the target differs."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(get(house))
        _, _, first = await peer.response()
        for path in ("/a%2Fb?x=1;y=%zz&&", "/", "//b/../c"):
            await peer.send(get(house, path))
            status, _, body = await peer.response()
            assert (status, body) == (200, first.replace(b"GET / ", b"GET %b " % path.encode()))
        assert long_way == [b"/"]
        assert len(house.calls) == 1


@pytest.mark.parametrize(
    "sent",
    [
        "GET /x HTTP/1.1\nHost: {host}\nX-Starlight-Token: sl_alice\nX-Mine: 2\n\n",
        "HEAD /x HTTP/1.1\nHost: {host}\nX-Starlight-Token: sl_alice\nX-Mine: 1\n\n",
        "GET http://{host}/x HTTP/1.1\nHost: {host}\nX-Starlight-Token: sl_alice\nX-Mine: 1\n\n",
        "GET /.starlight/x HTTP/1.1\nHost: {host}\nX-Starlight-Token: sl_alice\nX-Mine: 1\n\n",
    ],
)
async def test_what_differs_goes_the_long_way(tmp_path: Path, long_way: list[bytes], sent: str) -> None:
    """Other fields, another method, another form of target, a path of ours."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(sent.format(host=house.host))
        await peer.head()
        assert len(long_way) == 2


async def test_a_right_is_never_taken_from_another_request(tmp_path: Path, long_way: list[bytes]) -> None:
    """The same target without the token is asked to sign in."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\nX-Mine: 1\n\n")
        assert (await peer.response())[0] == 401


async def test_pipelined_and_broken_up_requests_are_answered_in_order(tmp_path: Path) -> None:
    """Two in one piece, one in two pieces, and one that comes while another is on its way."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await warm(house, peer)
        both = crlf(get(house, "/1") + get(house, "/2"))
        for pieces in ([both], [both[:9], both[9:]], [both[: len(both) // 2], both[len(both) // 2 :]]):
            for piece in pieces:
                await peer.send(piece)
                await asyncio.sleep(0)
            targets = [(await peer.response())[2].split(b" ")[1] for _ in range(2)]
            assert targets == [b"/1", b"/2"]


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("HTTP/1.1 204 No Content\n\n", b" 204 "),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", b"0\r\n\r\n"),
        ("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", b"\r\n\r\nhi"),
        ("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nhi", b" 502 "),
        ("nonsense\n\n", b" 502 "),
    ],
)
async def test_answers_of_every_kind_come_as_by_the_long_way(tmp_path: Path, answer: str, seen: bytes) -> None:
    """Whatever is not one whole plain answer is read by the conversation."""
    app = then(lambda _, writer: writer.write(crlf(answer)))
    async with open_house(tmp_path, app) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(get(house, "/other"))
        got = await peer.head()
        while seen not in got:
            got += await peer.exactly(1)
        assert got.startswith(b"HTTP/1.1 ")


async def test_a_withdrawn_right_ends_the_short_way_at_once(tmp_path: Path) -> None:
    """Between two requests the connection is closed."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await warm(house, peer)
        await warm(house, peer)
        house.remove(house.gate.table.session("s1"))  # type: ignore[arg-type] # it stands
        assert await peer.rest() == b""


async def test_who_is_cut_on_the_short_way_is_told(tmp_path: Path) -> None:
    """A request that is on its way is answered by the refusal, and no answer of the app follows."""
    asked = asyncio.Event()
    async with open_house(tmp_path, then(lambda *_: asked.set())) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(get(house, "/slow"))
        await asyncio.wait_for(asked.wait(), 5)
        house.remove(house.gate.table.session("s1"))  # type: ignore[arg-type] # it stands
        said = await peer.rest()
        assert said.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403"))
        assert said.count(b"HTTP/1.1 ") == 1


async def test_a_changed_table_and_time_call_for_a_new_look(
    tmp_path: Path, long_way: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever changed, the next request is judged anew; so is one after the memory is over."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await warm(house, peer)
        house.change(world.user(7, "carol"))
        await warm(house, peer)
        assert len(long_way) == 2
        monkeypatch.setattr(lane, "MEMORY_S", -1.0)
        house.change(world.user(7, "caroline"))
        await warm(house, peer)
        await warm(house, peer)
        assert len(long_way) == 4


async def test_an_app_that_closes_on_the_short_way_is_asked_again(tmp_path: Path) -> None:
    """It closed just as the request came: a GET is repeated on a fresh connection."""
    times: list[int] = []

    def answer(_: Reader, writer: Writer) -> bool:
        times.append(1)
        if len(times) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")
        return len(times) > 1

    async with open_house(tmp_path, then(answer)) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(get(house, "/other"))
        assert (await peer.response())[2] == b"new"
        assert len(house.calls) == 2


async def test_a_slow_answer_is_waited_for_by_the_conversation(
    tmp_path: Path, long_way: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two sweeps it has the conversation's deadlines, and is not asked for twice."""
    monkeypatch.setattr(http, "SWEEP_S", 0.02)
    writers: list[Writer] = []
    async with open_house(tmp_path, then(lambda _, writer: writers.append(writer))) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(get(house, "/slow"))
        async with asyncio.timeout(5):
            while len(long_way) < 2:
                await asyncio.sleep(0.01)
        writers[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")
        assert (await peer.response())[2] == b"late"
        assert len(writers) == 1


async def test_a_drained_gateway_answers_what_is_on_the_short_way(tmp_path: Path) -> None:
    """And says that it was the last."""
    writers: list[Writer] = []
    app = then(lambda _, writer: writers.append(writer))
    async with open_house(tmp_path, app, config={"drain_s": 5}) as house, visit(house) as peer:
        await warm(house, peer)
        await peer.send(get(house, "/slow"))
        async with asyncio.timeout(5):
            while not writers:
                await asyncio.sleep(0.01)
        house.stop()
        await asyncio.sleep(0.05)
        writers[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast")
        _, head, body = await peer.response()
        assert body == b"last"
        assert b"Connection: close" in head


async def test_who_leaves_on_the_short_way_stops_the_app(tmp_path: Path) -> None:
    """A person's reset reaches the app at once."""
    ended, asked = asyncio.Event(), asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with open_house(tmp_path, app) as house:
        async with visit(house) as peer:
            await warm(house, peer)
            await peer.send(get(house, "/slow"))
            await asyncio.wait_for(asked.wait(), 5)
            reset = struct.pack("ii", 1, 0)
            peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        await asyncio.wait_for(ended.wait(), 5)
