"""A repeated request is done without a task of its own, and is in no way less looked at for it."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.contract.routes import Level, Protocol
from gateway.entries.http.errand import Errands
from gateway.entries.http2 import connection
from tests.gateway import world
from tests.gateway.entries.http.house import BEARER
from tests.gateway.entries.http2.client import client
from tests.gateway.entries.http2.house import echo_heads, holds, open_https_house, says

MINE = ("x-starlight-token", BEARER)
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"


@pytest.fixture
def errands(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The requests that were done as errands."""
    done: list[bytes] = []
    begin = Errands.begin

    def noted(self: Errands, sock: object, address: str, data: bytes) -> object:
        errand = begin(self, sock, address, data)  # type: ignore[arg-type] # a stream stands in for the socket
        if errand is not None:
            done.append(data)
        return errand

    monkeypatch.setattr(Errands, "begin", noted)
    return done


async def test_the_second_of_like_requests_is_an_errand(tmp_path: Path, errands: list[bytes]) -> None:
    """It is answered as the first was, is a visit of its own, and its path is its own."""
    ended = []
    async with open_https_house(tmp_path, echo_heads, level=Level.PRIVATE) as house, client(house) as person:
        house.gate.visits.tell = ended.append
        ticket = ("cookie", house.ticket())
        for number in range(4):
            status, body = await person.answer(await person.ask("GET", f"/{number}", ticket))
            assert status == "200" and body.startswith(b"GET /%d HTTP/1.1\r\n" % number)
            assert b"X-Starlight-User: alice\r\n" in body and b"starlight_entry" not in body
        assert len(errands) == 3
        assert (await person.answer(await person.ask("GET", "/")))[0] == "401"
        await holds(lambda: len(ended) == 4)


async def test_many_at_once(tmp_path: Path, errands: list[bytes]) -> None:
    """Each stream gets its own answer."""
    async with open_https_house(tmp_path, echo_heads, level=Level.PRIVATE) as house, client(house) as person:
        for _ in range(3):
            numbers = [await person.ask("GET", f"/{number}", MINE) for number in range(30)]
            for at, number in enumerate(numbers):
                assert (await person.answer(number))[1].startswith(b"GET /%d HTTP" % at)
        assert errands
        await holds(lambda: len(house.gate.visits) == 0)


async def test_what_was_learned_on_one_connection_counts_on_no_other(tmp_path: Path, errands: list[bytes]) -> None:
    """Above all not on one that asked TLS for another host."""
    other = world.entry(18, protocol=Protocol.HTTPS, level=Level.OPEN, port=1)
    async with open_https_house(tmp_path, says(SHORT), other, level=Level.PRIVATE) as house:
        async with client(house) as person:
            for _ in range(2):
                assert (await person.answer(await person.ask("GET", "/", MINE)))[0] == "200"
        async with client(house, name=other.host) as person:
            for _ in range(2):
                assert (await person.answer(await person.ask("GET", "/", MINE)))[0] == "421"
        assert len(errands) == 1


@pytest.mark.parametrize("patience_s", [0.02, 60.0])
async def test_an_errand_that_takes_long_goes_on_as_a_conversation(
    tmp_path: Path, errands: list[bytes], monkeypatch: pytest.MonkeyPatch, patience_s: float
) -> None:
    """Whose person may go, and whose app hears of it; as does that of an errand."""
    gone = asyncio.Event()
    monkeypatch.setattr(connection, "ERRAND_S", patience_s)

    async def app(reader: Reader, writer: Writer) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b"/slow" in head:
                try:
                    await reader.read()
                finally:
                    gone.set()
            writer.write(SHORT)
            await writer.drain()

    async with open_https_house(tmp_path, app, level=Level.PRIVATE) as house, client(house) as person:
        assert (await person.answer(await person.ask("GET", "/", MINE)))[0] == "200"
        number = await person.ask("GET", "/slow", MINE)
        await holds(lambda: len(errands) == 1 and len(house.gate.visits) == 1)
        await asyncio.sleep(0.1)
        person.h2.reset_stream(number, 8)
        await person.flush()
        async with asyncio.timeout(2):
            await gone.wait()
        await holds(lambda: len(house.gate.visits) == 0)


async def test_withdrawing_the_right_cuts_an_errand(tmp_path: Path, errands: list[bytes]) -> None:
    """With its reason."""
    asked = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b"/slow" in head:
                asked.set()
                await reader.read()
            writer.write(SHORT)
            await writer.drain()

    async with open_https_house(tmp_path, app, level=Level.PRIVATE) as house, client(house) as person:
        assert (await person.answer(await person.ask("GET", "/", MINE)))[0] == "200"
        number = await person.ask("GET", "/slow", MINE)
        await asked.wait()
        house.remove(house.entry)
        assert (await person.answer(number))[0] == "403"
        assert person.heads[number]["x-starlight-reason"] == "withdrawn"
        assert errands


async def test_people_without_a_name_share_upstreams_within_a_connection_only(
    tmp_path: Path, errands: list[bytes]
) -> None:
    """What an app remembers of its peer never reaches another visitor; the same one need not dial again."""
    async with open_https_house(tmp_path, says(SHORT)) as house:
        for dialled in (1, 2):
            async with client(house) as person:
                for _ in range(4):
                    assert await person.answer(await person.ask()) == ("200", b"abc")
            assert len(house.calls) == dialled
        assert len(errands) == 6


async def test_an_errand_whose_answer_is_large_or_odd(tmp_path: Path, errands: list[bytes]) -> None:
    """Goes on as a conversation, with every byte where it would have been."""
    answers = [SHORT, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n"]

    async def app(reader: Reader, writer: Writer) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(answers.pop(0))
            await writer.drain()

    async with open_https_house(tmp_path, app, level=Level.PRIVATE) as house, client(house) as person:
        assert await person.answer(await person.ask("GET", "/", MINE)) == ("200", b"abc")
        number = await person.ask("GET", "/", MINE)
        assert await person.answer(number) == ("200", b"abc")
        assert person.trailers[number] == {"x-t": "1"} and len(errands) == 1


async def test_a_stream_that_is_reset_while_its_errand_runs(tmp_path: Path, errands: list[bytes]) -> None:
    """Takes nothing with it: the next is served."""
    async with open_https_house(tmp_path, says(SHORT), level=Level.PRIVATE) as house, client(house) as person:
        assert (await person.answer(await person.ask("GET", "/", MINE)))[0] == "200"
        for _ in range(5):
            number = await person.ask("GET", "/", MINE)
            person.h2.reset_stream(number, 8)
            await person.flush()
        assert await person.answer(await person.ask("GET", "/", MINE)) == ("200", b"abc")
        await holds(lambda: len(house.gate.visits) == 0)
