"""One connection from its first byte to its end: refusals, limits, withdrawals, and people who mean no good."""

from __future__ import annotations

import asyncio
import json
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path
from typing import Any

import pytest

from gateway.contract.bridge import Fault
from gateway.contract.routes import JobPhase, Level
from gateway.entries.http import conversation
from tests.gateway import world
from tests.gateway.entries.http.house import House, Peer, crlf, open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads, get, reset

PAGE = "Accept: text/html\nSec-Fetch-Mode: navigate\n"


async def refused(peer: Peer, request: str) -> tuple[int, str, dict[str, Any]]:
    """Status, reason and problem of the answer to a program's request."""
    await peer.send(request)
    status, head, body = await peer.response()
    reason = next(line for line in head.decode().split("\r\n") if line.startswith("X-Starlight-Reason: "))
    return status, reason.partition(": ")[2], json.loads(body)


# Refusals.


@pytest.mark.parametrize(
    ("phase", "status", "reason"),
    [
        (JobPhase.STARTING, 503, "job_starting"),
        (JobPhase.SUSPENDED, 503, "job_suspended"),
        (JobPhase.UNREACHABLE, 503, "job_unreachable"),
        (JobPhase.ENDED, 410, "job_ended"),
    ],
)
async def test_jobs_that_cannot_answer(tmp_path: Path, phase: JobPhase, status: int, reason: str) -> None:
    """Programs get a problem, browsers a page, both with the reason; the connection goes on."""
    async with (
        open_house(tmp_path, echo_heads, world.job(phase=phase), level=Level.OPEN) as house,
        visit(house) as peer,
    ):
        code, why, problem = await refused(peer, get(house))
        assert (code, why, problem["code"], problem["status"]) == (status, reason, reason, status)
        await peer.send(get(house, more=PAGE + "Accept-Language: en\n"))
        code, head, body = await peer.response()
        assert code == status
        assert f"X-Starlight-Reason: {reason}\r\n".encode() in head
        assert b"Content-Security-Policy: default-src 'none'" in head
        assert b'<html lang="en">' in body
        assert (b'http-equiv="refresh"' in body) == (reason == "job_starting")


async def test_an_app_that_does_not_listen_yet(tmp_path: Path) -> None:
    """The bridge says so, the page loads itself again."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        house.fault = Fault.NOT_LISTENING
        code, why, _ = await refused(peer, get(house))
        assert (code, why) == (502, "not_listening")
        house.fault = None
        await peer.send(get(house))
        assert (await peer.response())[0] == 200


@pytest.mark.parametrize("host", ["nobody.proxy.localhost", "127.0.0.1", "localhost:1"])
async def test_unknown_hosts(tmp_path: Path, host: str) -> None:
    """404 with its own reason, and nothing is dialled."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        code, why, _ = await refused(peer, f"GET / HTTP/1.1\nHost: {host}\n\n")
        assert (code, why, house.calls) == (404, "unknown_host", [])


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET / HTTP/1.1\n\n", 400),
        ("GET / HTTP/2.0\nHost: HOST\n\n", 505),
        ("CONNECT a:1 HTTP/1.1\nHost: HOST\n\n", 501),
        ("GET / HTTP/1.1\nHost: HOST\nTransfer-Encoding: gzip\n\n", 501),
        ("GET / HTTP/1.1\nHost: HOST\nContent-Length: 1\nContent-Length: 2\n\n", 400),
        ("GET / HTTP/1.1\nHost: HOST\nX: " + "a" * 66_000 + "\n\n", 431),
        ("GET / HTTP/1.1\nHost: HOST\nExpect: a miracle\n\n", 417),
    ],
)
async def test_malformed_requests(tmp_path: Path, request_text: str, status: int) -> None:
    """A sentence and the end of the connection; what was sent is not echoed, nothing is dialled (B36, B53, B65)."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(request_text.replace("HOST", house.host))
        code, head, body = await peer.response()
        assert code == status
        assert b"X-Starlight-Reason: " in head
        assert b"aaaa" not in body
        assert house.calls == []
        if status != 417:
            assert await peer.rest() == b""


async def test_bare_line_feeds_are_refused_at_once(tmp_path: Path) -> None:
    """Not only when the head's deadline comes (B38)."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\n\n".encode())
        assert (await peer.response())[0] == 400


@pytest.mark.parametrize("first", [b"\x16\x03\x01\x02\x00", b"SSH-2.0-x\r\n", b"\x00\x00\x00"])
async def test_other_protocols_are_not_kept_waiting(tmp_path: Path, first: bytes) -> None:
    """TLS on the plain port, ssh, garbage: the connection ends."""
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        await peer.send(first)
        try:
            assert await peer.rest() == b""
        except ConnectionResetError:
            return


async def test_large_cookies_pass(tmp_path: Path) -> None:
    """20 KB of them are no reason for a 400 (B53)."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more="".join(f"Cookie: c{number}={'v' * 4000}\n" for number in range(5))))
        assert (await peer.response())[0] == 200


async def test_reserved_paths_never_reach_the_app(tmp_path: Path) -> None:
    """/.starlight/ is the gateway's on every entry."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        code, _, _ = await refused(peer, get(house, "/.starlight/anything"))
        assert (code, house.calls) == (404, [])


async def test_more_visits_than_the_gateway_may_hold(tmp_path: Path) -> None:
    """Refused with a sentence, not with a broken connection."""
    async with (
        open_house(tmp_path, echo_heads, level=Level.OPEN, config={"visits_limit": 1}) as house,
        visit(house) as first,
        visit(house) as second,
    ):
        await first.send(get(house))
        assert (await first.response())[0] == 200
        code, why, _ = await refused(second, get(house))
        assert (code, why) == (503, "gateway_busy")


# Pipelining and bounds.


async def test_a_flood_of_pipelined_requests_is_not_collected(tmp_path: Path) -> None:
    """While an answer is owed, reading stops (B40)."""
    go = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await go.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await echo_heads(reader, writer)

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        one, sent = crlf(get(house)), 0
        peer.writer.transport.set_write_buffer_limits(high=0)
        try:
            async with asyncio.timeout(1):
                while sent < 64 << 20:
                    peer.writer.write(one * 1000)
                    sent += len(one) * 1000
                    await peer.writer.drain()
        except TimeoutError:
            pass
        assert sent < 32 << 20
        go.set()
        assert (await peer.head()).startswith(b"HTTP/1.1 200 ")
        assert (await peer.response())[0] == 200


async def test_who_does_not_read_stops_the_app(tmp_path: Path) -> None:
    """A gigabyte for somebody who takes nothing is not held in memory (B64)."""
    sent = 0

    async def app(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        writer.transport.set_write_buffer_limits(high=0)
        while True:
            writer.write(bytes(1 << 18))
            await writer.drain()
            sent += 1 << 18

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house, limit=1 << 12) as peer:
        await peer.send(get(house))
        await peer.head()
        before = -1
        async with asyncio.timeout(10):
            while before != sent:
                before = sent
                await asyncio.sleep(0.3)
        assert sent < 64 << 20


@pytest.mark.parametrize("start", [b"", b"GET / HT"])
async def test_slow_heads_have_a_deadline(tmp_path: Path, start: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first head that does not come, or drips (B64)."""
    monkeypatch.setattr(conversation, "HEAD_S", 0.2)
    async with open_house(tmp_path, echo_heads) as house, visit(house) as peer:
        if start:
            await peer.send(start)
            assert (await peer.response())[0] == 408
        assert await peer.rest() == b""


async def test_a_resting_connection_ends_and_a_drip_after_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between requests there is more time, but not for a head that has begun."""
    monkeypatch.setattr(conversation, "KEPT_S", 1.5)
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        assert (await peer.response())[0] == 200
        assert await peer.rest() == b""
        monkeypatch.setattr(conversation, "HEAD_S", 0.1)
        monkeypatch.setattr(conversation, "KEPT_S", 60.0)
        async with visit(house) as other:
            await other.send(get(house))
            assert (await other.response())[0] == 200
            await other.send(b"GET")
            assert (await other.response())[0] == 408


async def test_a_silent_exchange_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sooner when the person's side has ended: whoever closed a tab takes no answer."""
    monkeypatch.setattr(conversation, "HALF_CLOSED_S", 0.2)

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.read()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house))
        peer.writer.write_eof()
        assert (await peer.response())[0] == 504
        assert await peer.rest() == b""


async def test_one_connections_fault_leaves_others_alone(tmp_path: Path) -> None:
    """Resets at any moment are their own."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, visit(house) as peer:
        for text in ("", "GET", get(house), get(house) + "GET /"):
            async with visit(house) as other:
                await other.send(text)
                reset(other.writer)
        await peer.send(get(house))
        assert (await peer.response())[0] == 200


async def test_many_long_answers_at_once(tmp_path: Path) -> None:
    """No pool of connections runs dry (B48)."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nfirst")
        await reader.read()

    async def one(house: House, alive: asyncio.Barrier) -> None:
        async with visit(house) as peer:
            await peer.send(get(house))
            await peer.head()
            assert await peer.exactly(5) == b"first"
            await alive.wait()

    async with open_house(tmp_path, app, level=Level.OPEN) as house, asyncio.timeout(30):
        alive = asyncio.Barrier(150)
        async with asyncio.TaskGroup() as group:
            for _ in range(150):
                group.create_task(one(house, alive))


# Withdrawal, visits, the end of the process.


async def test_a_visit_is_listed_with_its_bytes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line for the connection, whatever the number of requests."""
    caplog.set_level("INFO", logger="gateway.visit")
    async with open_house(tmp_path, echo_heads) as house:
        async with visit(house) as peer:
            for _ in range(2):
                await peer.send(get(house, more=f"Cookie: {house.ticket()}\n"))
                assert (await peer.response())[0] == 200
            assert len(house.gate.visits) == 1
        async with asyncio.timeout(5):
            await house.gate.visits.wait_none()
    lines = [record.getMessage() for record in caplog.records if record.name == "gateway.visit"]
    assert len(lines) == 1
    assert "user=1" in lines[0]
    assert "in=0" not in lines[0]
