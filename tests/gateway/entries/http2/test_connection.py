"""One person's HTTP/2 connection: each stream is admitted, answered and cut on its own."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import pytest

from gateway.contract.routes import EntryLimits, Level, Protocol
from gateway.entries.http2 import connection
from tests.gateway import world
from tests.gateway.entries.http.house import BEARER, open_house, visit
from tests.gateway.entries.http2.client import client
from tests.gateway.entries.http2.house import echo_heads, holds, open_https_house, says


async def test_a_request_and_its_answer(tmp_path: Path) -> None:
    """The app sees HTTP/1.1, the target as it was sent, and the truth about where it came from."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        number = await person.ask("GET", "/a%2Fb?c=1", ("accept", "*/*"), ("x-forwarded-for", "6.6.6.6"))
        status, body = await person.answer(number)
        assert status == "200"
        assert body.startswith(f"GET /a%2Fb?c=1 HTTP/1.1\r\nHost: {house.host}\r\nAccept: */*\r\n".encode())
        assert b"X-Forwarded-For: 127.0.0.1\r\n" in body and b"6.6.6.6" not in body
        assert b"X-Forwarded-Proto: https\r\n" in body


async def test_each_stream_is_admitted_on_its_own(tmp_path: Path) -> None:
    """A ticket that one stream shows counts for no other."""
    async with open_https_house(tmp_path, echo_heads, level=Level.PRIVATE) as house, client(house) as person:
        mine = await person.ask("GET", "/", ("cookie", "a=1"), ("cookie", house.ticket()))
        none = await person.ask("GET", "/")
        token = await person.ask("GET", "/", ("x-starlight-token", BEARER))
        status, body = await person.answer(mine)
        assert status == "200" and b"Cookie: a=1\r\n" in body and b"X-Starlight-User: alice\r\n" in body
        assert (await person.answer(none))[0] == "401"
        assert person.heads[none]["x-starlight-reason"] == "sign_in"
        assert (await person.answer(token))[0] == "200"


async def test_a_page_without_a_session_is_sent_to_sign_in(tmp_path: Path) -> None:
    """The same hop as over HTTP/1.1."""
    async with open_https_house(tmp_path, echo_heads, level=Level.LOGIN) as house, client(house) as person:
        number = await person.ask("GET", "/x", ("sec-fetch-mode", "navigate"))
        assert (await person.answer(number))[0] == "303"
        assert person.heads[number]["location"].startswith("http://127.0.0.1:8080/hop?entry=")
        assert person.heads[number]["set-cookie"].startswith("__Host-starlight_state_")


async def test_another_sites_page_may_not_act_in_somebodys_name(tmp_path: Path) -> None:
    """Origins are looked at on every stream."""
    async with open_https_house(tmp_path, echo_heads, level=Level.PRIVATE) as house, client(house) as person:
        evil = ("origin", "https://evil.example")
        number = await person.ask("POST", "/", ("cookie", house.ticket()), evil)
        assert (await person.answer(number))[0] == "403"
        assert person.heads[number]["x-starlight-reason"] == "cross_origin"


async def test_a_request_for_another_host_on_the_same_connection_is_misdirected(tmp_path: Path) -> None:
    """Browsers put them there when the certificate covers both (B57); the connection admits to nothing."""
    other = world.entry(18, protocol=Protocol.HTTPS, level=Level.OPEN, port=1)
    async with open_https_house(tmp_path, echo_heads, other) as house, client(house) as person:
        person.authority = other.host
        number = await person.ask()
        assert (await person.answer(number))[0] == "421"
        person.authority = house.host
        assert (await person.answer(await person.ask()))[0] == "200"


async def test_a_connection_that_names_another_host_is_not_the_entrys(tmp_path: Path) -> None:
    """Nor the other way around."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house, name="proxy.localhost") as person:
        assert (await person.answer(await person.ask()))[0] == "421"


async def test_a_malformed_request_ends_its_own_stream_only(tmp_path: Path) -> None:
    """With its status; others go on."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        good = await person.ask()
        bad = await person.ask("GET", "/", ("connection", "close"))
        late = await person.ask("POST", "/", ("transfer-encoding", "chunked"), end=False)
        assert (await person.answer(bad))[0] == "400"
        assert (await person.answer(good))[0] == "200"
        assert (await person.answer(late))[0] == "400"
        assert (await person.answer(await person.ask()))[0] == "200"


async def test_a_head_over_64_kib_is_told_so(tmp_path: Path) -> None:
    """431, and the connection goes on."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        large = [(f"x-{number}", "v" * 1000) for number in range(70)]
        assert (await person.answer(await person.ask("GET", "/", *large)))[0] == "431"
        fits = [(f"x-{number}", "v" * 1000) for number in range(60)]
        assert (await person.answer(await person.ask("GET", "/", *fits)))[0] == "200"


async def test_connect_is_for_forward_proxies(tmp_path: Path) -> None:
    """501."""
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        headers = [(":method", "CONNECT"), (":authority", house.host)]
        assert (await person.answer(await person.ask_with(headers, end=False)))[0] == "400"


async def test_a_stream_over_the_limit_is_refused_unprocessed(tmp_path: Path) -> None:
    """It may be sent again; those that are open are served."""
    begun = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await begun.wait()
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        numbers = [await person.ask() for _ in range(connection.STREAMS_LIMIT + 1)]
        await person.until(lambda: person.resets)
        assert person.resets == {numbers[-1]: 7}
        begun.set()
        for number in numbers[:-1]:
            assert (await person.answer(number))[0] == "204"


async def test_withdrawing_a_right_cuts_the_streams_that_rest_on_it(tmp_path: Path) -> None:
    """At once, with the reason where nothing was answered yet; the connection is there for others."""
    begun: list[None] = []

    async def app(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b" /begun" in head:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        begun.append(None)
        await reader.read()

    async with open_https_house(tmp_path, app, level=Level.PRIVATE) as house, client(house) as person:
        ticket = ("cookie", house.ticket())
        waits, begins = await person.ask("GET", "/", ticket), await person.ask("GET", "/begun", ticket)
        await person.until(lambda: bytes(person.bodies[begins]) == b"abc")
        await holds(lambda: len(begun) == 2)
        assert len(house.gate.visits) == 2
        session = house.gate.table.session("s1")
        assert session is not None
        house.remove(session)
        assert (await person.answer(waits))[0] == "403"
        assert person.heads[waits]["x-starlight-reason"] == "withdrawn"
        with pytest.raises(ConnectionResetError):
            await person.answer(begins)
        assert (await person.answer(await person.ask("GET", "/", ticket)))[0] == "401"
        await holds(lambda: len(house.gate.visits) == 0)


async def test_each_stream_is_a_visit_with_its_bytes(tmp_path: Path) -> None:
    """The journal tells them apart."""
    ended = []
    async with open_https_house(tmp_path, says(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")) as house:
        house.gate.visits.tell = ended.append
        async with client(house) as person:
            for _ in range(2):
                assert await person.answer(await person.ask()) == ("200", b"abc")
        await holds(lambda: len(ended) == 2)
        assert all(visit.outward > 3 and visit.inward > 40 for visit in ended)
        assert ended[0].visit_id != ended[1].visit_id


async def test_too_many_visits_of_one_address_are_refused(tmp_path: Path) -> None:
    """Streams count as connections do."""
    limits = {"address_visits_limit": 3}
    async with (
        open_https_house(tmp_path, says(b""), config=limits) as house,
        client(house) as person,
    ):
        for _ in range(3):
            await person.ask()
        await holds(lambda: len(house.gate.visits) == 3)
        assert (await person.answer(await person.ask()))[0] == "429"


async def test_a_reset_stream_cancels_its_app_at_once(tmp_path: Path) -> None:
    """The app sees the end of its connection."""
    gone = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        try:
            await reader.read()
        finally:
            gone.set()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask()
        await person.until(lambda: person.bodies[number])
        person.h2.reset_stream(number, 8)
        await person.flush()
        async with asyncio.timeout(1):
            await gone.wait()
        await holds(lambda: len(house.gate.visits) == 0)


async def test_the_end_of_the_connection_ends_all_its_streams(tmp_path: Path) -> None:
    """Nothing stays behind."""
    async with open_https_house(tmp_path, says(b"")) as house:
        async with client(house) as person:
            for _ in range(5):
                await person.ask()
            await holds(lambda: len(house.gate.visits) == 5)
        await holds(lambda: len(house.gate.visits) == 0)


async def test_drain_lets_open_streams_end_and_takes_no_others(tmp_path: Path) -> None:
    """GOAWAY twice (RFC 9113, 6.8): first nothing more is to be opened, then what is opened is refused."""
    go_on = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await go_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        await writer.drain()

    async with open_https_house(tmp_path, app, config={"drain_s": 5.0}) as house, client(house) as person:
        number = await person.ask()
        await holds(lambda: len(house.gate.visits) == 1)
        house.stop()
        await person.until(lambda: len(person.goaways) == 1)
        assert (person.goaways[0].last_stream_id, person.goaways[0].error_code) == (2**31 - 1, 0)
        await person.until(lambda: len(person.goaways) == 2)
        assert person.goaways[1].last_stream_id == number
        go_on.set()
        assert await person.answer(number) == ("200", b"abc")
        await person.end()


async def test_what_is_left_at_the_end_of_the_drain_is_cut(tmp_path: Path) -> None:
    """With its reason."""
    async with open_https_house(tmp_path, says(b""), config={"drain_s": 0.1}) as house, client(house) as person:
        number = await person.ask()
        await holds(lambda: len(house.gate.visits) == 1)
        house.stop()
        assert (await person.answer(number))[0] == "503"
        assert person.heads[number]["x-starlight-reason"] == "gateway_restarting"
        await person.end()


async def test_a_resting_connection_ends_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, with GOAWAY."""
    monkeypatch.setattr(connection, "KEPT_S", 0.1)
    async with open_https_house(tmp_path, echo_heads) as house, client(house) as person:
        await person.answer(await person.ask())
        await person.end()
        assert person.goaways[-1].error_code == 0


async def test_a_person_who_leaves_in_order_still_gets_what_is_open(tmp_path: Path) -> None:
    """Their GOAWAY ends no stream."""
    go_on = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await go_on.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        await writer.drain()

    async with open_https_house(tmp_path, app) as house, client(house) as person:
        number = await person.ask()
        await holds(lambda: len(house.gate.visits) == 1)
        person.writer.write(bytes.fromhex("000008 07 00 00000000 00000000 00000000"))
        await person.writer.drain()
        await person.until(lambda: person.goaways)
        go_on.set()
        assert await person.answer(number) == ("200", b"abc")
        await person.end()


async def test_http1_is_spoken_where_the_client_does_not_ask_for_more(tmp_path: Path) -> None:
    """No ALPN, no HTTP/2; and never on a plain port, whatever the client begins with."""
    from tests.gateway import tls_client

    async with open_https_house(tmp_path, echo_heads) as house:
        context = tls_client.client_context()
        async with visit(house, ssl=context, server_hostname=house.entry.host) as person:
            await person.send(f"GET / HTTP/1.1\nHost: {house.host}\n\n")
            assert (await person.response())[0] == 200
    plain = tmp_path / "plain"
    plain.mkdir()
    async with open_house(plain, echo_heads, level=Level.OPEN) as house, visit(house) as person:
        await person.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert (await person.head()).startswith(b"HTTP/1.1 505 ")


async def test_the_owners_limits_hold_for_streams(tmp_path: Path) -> None:
    """Requests a minute, and bytes of one body, announced or not."""
    limits = EntryLimits(requests_per_minute=4, body_bytes=10)
    async with open_https_house(tmp_path, echo_heads, entry={"limits": limits}) as house, client(house) as person:
        long = await person.ask("POST", "/", ("content-length", "11"), end=False)
        assert (await person.answer(long))[0] == "413"
        number = await person.ask("POST", "/", body=b"x" * 11)
        assert (await person.answer(number))[0] == "413"
        statuses = [(await person.answer(await person.ask()))[0] for _ in range(6)]
        assert statuses[-1] == "429" and "200" in statuses
