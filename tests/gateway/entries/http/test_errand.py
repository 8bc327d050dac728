"""Errands: what is done without a task, that it looks like the long way from both sides, and what goes on as one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.core.refusals import Code
from gateway.entries.http import errand, lane
from gateway.entries.http.conversation import Conversation
from gateway.wire import journal
from tests.gateway import world
from tests.gateway.entries.http.house import App, House, Peer, crlf, open_house, visit

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-App: 1\r\n\r\nok"


@pytest.fixture
def long_way(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A mark for each connection that became a conversation."""
    seen: list[int] = []
    plain = Conversation.run

    async def run(self: Conversation) -> None:
        seen.append(1)
        await plain(self)

    monkeypatch.setattr(Conversation, "run", run)
    return seen


def get(house: House, path: str = "/", more: str = "", method: str = "GET") -> bytes:
    """Alice's request, the last one of its connection, with the same fields every time."""
    return crlf(
        f"{method} {path} HTTP/1.1\nHost: {house.host}\nConnection: close\nX-Starlight-Token: sl_alice\n{more}\n"
    )


@asynccontextmanager
async def asking(house: House, request: bytes) -> AsyncIterator[Peer]:
    """A connection whose request is there as soon as it is."""
    async with visit(house) as peer:
        await peer.send(request)
        yield peer


async def ask(house: House, request: bytes) -> bytes:
    """Everything that is answered, to the orderly end."""
    async with asking(house, request) as peer:
        return await peer.rest()


async def settled(house: House) -> None:
    """No visit is open any more, so that its upstream lies in the pool."""
    await asyncio.wait_for(house.gate.visits.wait_none(), 5)
    await asyncio.sleep(0.01)


async def warm(house: House) -> None:
    """The first request, which goes the long way and teaches."""
    assert (await ask(house, get(house))).startswith(b"HTTP/1.1 200")
    await settled(house)


async def echo_heads(reader: Reader, writer: Writer) -> None:
    """An app that answers each request with its head."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-App: 1\r\n\r\n" % len(head) + head)


def then(answer: Callable[[Reader, Writer], object]) -> App:
    """An app that answers `/` plainly and any other target as told."""

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET / "):
                writer.write(OK)
            elif answer(reader, writer) is False:
                return

    return app


async def test_repeated_requests_are_errands_with_the_same_bytes(tmp_path: Path, long_way: list[int]) -> None:
    """App and person see what they would see the long way; only the target differs."""
    async with open_house(tmp_path, echo_heads) as house:
        first = await ask(house, get(house))
        await settled(house)
        for path in ("/a%2Fb?x=1;y=%zz&&", "/", "//b/../c"):
            expected = first.replace(b"GET / ", b"GET %b " % path.encode())
            added = len(expected) - len(first)
            length = int(first.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            expected = expected.replace(b"Content-Length: %d" % length, b"Content-Length: %d" % (length + added))
            assert await ask(house, get(house, path)) == expected
            await settled(house)
        assert len(long_way) == 1
        assert len(house.calls) == 1


async def test_an_errand_is_a_visit_like_any_other(tmp_path: Path, long_way: list[int]) -> None:
    """It has a line in the journal, with its bytes, and none is left open."""
    told: list[journal.Ended] = []
    async with open_house(tmp_path, echo_heads) as house:
        house.gate.visits.tell = told.append
        await warm(house)
        await warm(house)
        assert len(long_way) == 1
    long, short = told
    assert (short.admission, short.protocol, short.address) == (long.admission, long.protocol, long.address)
    assert (short.inward, short.outward, short.reason) == (long.inward, long.outward, long.reason)
    assert short.visit_id != long.visit_id


@pytest.mark.parametrize(
    "request_of",
    [
        lambda house: get(house, more="X-Mine: 2\n"),
        lambda house: get(house, method="HEAD"),
        lambda house: get(house, f"http://{house.host}/x"),
        lambda house: get(house, "/.starlight/x"),
        lambda house: get(house).replace(b"Connection: close\r\n", b"") + get(house),
        lambda house: get(house) + b"x",
    ],
)
async def test_what_differs_is_a_conversation(
    tmp_path: Path, long_way: list[int], request_of: Callable[[House], bytes]
) -> None:
    """Other fields, another method, another form of target, a path of ours, more than one request."""
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        assert (await ask(house, request_of(house))).startswith(b"HTTP/1.1 ")
        assert len(long_way) == 2


async def test_a_request_in_two_pieces_is_a_conversation(tmp_path: Path, long_way: list[int]) -> None:
    """Both pieces arrive where they belong."""
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        async with asking(house, get(house)[:20]) as peer:
            await asyncio.sleep(0.05)
            await peer.send(get(house)[20:])
            assert (await peer.rest()).startswith(b"HTTP/1.1 200")
        assert len(long_way) == 2


async def test_no_right_is_taken_from_another_person(tmp_path: Path) -> None:
    """The same request without the token is asked to sign in, and so is one with another."""
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        for token in (b"", b"X-Starlight-Token: sl_bob\r\n"):
            request = get(house).replace(b"X-Starlight-Token: sl_alice\r\n", token)
            assert (await ask(house, request)).startswith((b"HTTP/1.1 401", b"HTTP/1.1 403"))


async def test_a_changed_table_and_time_call_for_a_new_look(
    tmp_path: Path, long_way: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever changed, the next request is judged anew; so is one after the memory is over."""
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        house.change(world.user(7, "carol"))
        monkeypatch.setattr(lane, "MEMORY_S", -1.0)
        await warm(house)
        await warm(house)
        assert len(long_way) == 3
        house.remove(house.gate.table.session("s1"))  # type: ignore[arg-type] # it stands
        assert (await ask(house, get(house))).startswith(b"HTTP/1.1 401")


async def test_one_of_a_crowd_learns_anew_before_the_end(
    tmp_path: Path, long_way: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others go on with what is known meanwhile; one that learned has the whole time again."""
    monkeypatch.setattr(errand, "RENEW_S", 60.0)
    monkeypatch.setattr(lane, "MEMORY_S", 30.0)
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        await warm(house)
        assert len(long_way) == 2
        monkeypatch.setattr(errand, "RENEW_S", 1.0)
        for _ in range(3):
            await warm(house)
        assert len(long_way) == 2


async def test_a_full_house_refuses_errands_too(tmp_path: Path) -> None:
    """An address may have no more visits than its limit, whichever way they go."""
    asked = asyncio.Event()
    async with open_house(tmp_path, then(lambda *_: asked.set()), config={"address_visits_limit": 1}) as house:
        await warm(house)
        async with asking(house, get(house, "/slow")):
            await asyncio.wait_for(asked.wait(), 5)
            assert (await ask(house, get(house))).startswith(b"HTTP/1.1 429")


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        ("HTTP/1.1 204 No Content\n\n", b" 204 "),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n0\n\n", b"0\r\n\r\n"),
        ("HTTP/1.1 103 Early Hints\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\nhi", b"\r\n\r\nhi"),
        ("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nhi", b" 502 "),
        ("HTTP/1.1 200 OK\nContent-Length: 40000\n\n" + "x" * 40000, b"x" * 40000),
        ("nonsense\n\n", b" 502 "),
    ],
)
async def test_answers_of_every_kind_come_as_by_the_long_way(tmp_path: Path, answer: str, seen: bytes) -> None:
    """Whatever is not one brief plain answer is read by a conversation, which the next one is from the start."""
    app = then(lambda _, writer: writer.write(crlf(answer)))
    async with open_house(tmp_path, app) as house:
        await warm(house)
        for _ in range(2):
            assert seen in await ask(house, get(house, "/other"))
            await settled(house)


async def test_an_answer_in_pieces_is_put_together(tmp_path: Path, long_way: list[int]) -> None:
    """Many apps write head and body one after the other."""

    async def app(reader: Reader, writer: Writer) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            for piece in (OK[:9], OK[9:-2], OK[-2:]):
                writer.write(piece)
                await asyncio.sleep(0.003)

    async with open_house(tmp_path, app) as house:
        await warm(house)
        assert await ask(house, get(house)) == OK.replace(b"X-App: 1", b"X-App: 1\r\nConnection: close")
        assert len(long_way) == 1


@pytest.mark.parametrize("end", ["close", "reset"])
async def test_a_truncated_answer_never_looks_complete(tmp_path: Path, end: str) -> None:
    """The app breaks off inside the body: the person's connection is reset, or they are told, but not that."""

    def answer(_: Reader, writer: Writer) -> bool:
        if end == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        return False

    async with open_house(tmp_path, then(answer)) as house:
        await warm(house)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            got = await ask(house, get(house, "/other"))
            assert got.startswith(b"HTTP/1.1 5"), got


async def test_an_app_that_closes_just_then_is_asked_again(tmp_path: Path) -> None:
    """A GET is repeated on a fresh connection."""
    times: list[int] = []

    def answer(_: Reader, writer: Writer) -> bool:
        times.append(1)
        if len(times) > 1:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")
        return len(times) > 1

    async with open_house(tmp_path, then(answer)) as house:
        await warm(house)
        assert (await ask(house, get(house, "/other"))).endswith(b"new")
        assert len(house.calls) == 2


async def test_a_withdrawn_right_cuts_an_errand_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, and the app is told that nobody waits."""
    monkeypatch.setattr(errand, "PATIENCE_S", 60.0)
    asked, ended = asyncio.Event(), asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with open_house(tmp_path, app) as house:
        await warm(house)
        async with asking(house, get(house, "/slow")) as peer:
            await asyncio.wait_for(asked.wait(), 5)
            async with asyncio.timeout(1):
                house.remove(house.gate.table.session("s1"))  # type: ignore[arg-type] # it stands
                said = await peer.rest()
                await ended.wait()
        assert said.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403"))
        assert said.count(b"HTTP/1.1 ") == 1
        assert b"withdrawn" in said


@pytest.mark.parametrize("moment", ["before", "while", "after"])
async def test_a_slow_errand_is_a_conversation_that_can_be_cut(tmp_path: Path, moment: str) -> None:
    """Before it is handed over, in the turn in which it is, and afterwards: the person is told once."""
    asked = asyncio.Event()
    async with open_house(tmp_path, then(lambda *_: asked.set())) as house:
        await warm(house)
        async with asking(house, get(house, "/slow")) as peer:
            await asyncio.wait_for(asked.wait(), 5)
            if moment == "while":
                await _handed_over(house)
            elif moment == "after":
                await asyncio.sleep(0.2)
            (name,) = house.gate.visits.live()
            assert house.gate.visits.cut(name)
            said = await peer.rest()
        assert said.count(b"HTTP/1.1 ") == 1
        assert str(Code.CUT).encode() in said
        await settled(house)


async def _handed_over(house: House) -> None:
    """Waits for the very turn of the loop in which the errand is no errand any more."""
    (one,) = house.gate.visits.live().values()
    cut = one._cut
    assert cut is not None
    short = cut.__self__  # type: ignore[attr-defined] # a bound method
    while short.up.flow is short:
        await asyncio.sleep(0)


async def test_who_leaves_stops_the_app(tmp_path: Path) -> None:
    """A person's reset reaches the app within a moment."""
    ended, asked = asyncio.Event(), asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        with contextlib.suppress(ConnectionError):
            await reader.read()
        ended.set()

    async with open_house(tmp_path, app) as house:
        await warm(house)
        async with asking(house, get(house, "/slow")) as peer:
            await asyncio.wait_for(asked.wait(), 5)
            linger = struct.pack("ii", 1, 0)
            peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await asyncio.wait_for(ended.wait(), 1)
        await settled(house)


async def test_a_drained_gateway_answers_its_errands(tmp_path: Path) -> None:
    """The answer comes, however long it takes within the time to drain."""
    writers: list[Writer] = []
    app = then(lambda _, writer: writers.append(writer))
    async with open_house(tmp_path, app, config={"drain_s": 5}) as house:
        await warm(house)
        async with asking(house, get(house, "/slow")) as peer:
            async with asyncio.timeout(5):
                while not writers:
                    await asyncio.sleep(0.001)
            house.stop()
            await asyncio.sleep(0.1)
            writers[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast")
            assert (await peer.rest()).endswith(b"last")


async def test_a_crowd_of_errands_is_answered_each_its_own(tmp_path: Path) -> None:
    """Many at once, more than there are idle upstreams: none gets another's answer."""
    async with open_house(tmp_path, echo_heads) as house:
        await warm(house)
        for _ in range(3):
            paths = [f"/{number}" for number in range(40)]
            answers = await asyncio.gather(*(ask(house, get(house, path)) for path in paths))
            assert [answer.split(b"\r\n\r\nGET ")[1].split(b" ")[0].decode() for answer in answers] == paths
        await settled(house)
