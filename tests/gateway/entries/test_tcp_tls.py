"""tcp entries over TLS at the client's socket: names, certificates, PostgreSQL's opening, hostile hands, cuts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from certs.client_ca import IssuedClient, make_client_authority
from control.clock import utcnow
from gateway.contract.codec import Change, Record
from gateway.contract.routes import Authority, Entry, JobPhase, Level, PortKind, Protocol
from gateway.core.refusals import Code, Refusal
from gateway.core.table import Table
from gateway.entries import tcp, tcp_tls, tls
from gateway.wire.gate import Gate
from tests.gateway import gates, world
from tests.gateway.entries.test_tcp import App, echo, greet, reply_after_the_end
from tests.gateway.loops import Runner, both_loops
from tests.gateway.tls_client import (
    TlsClient,
    client_authority_record,
    client_context,
    connect,
    issued,
    plain,
    record_of,
    server_certificate,
)
from tests.gateway.wire.bridges import bridge, connects_to

ALICES = issued()
BOBS = issued("bob")
SSL_REQUEST = bytes.fromhex("0000000804d2162f")
GSSENC_REQUEST = bytes.fromhex("0000000804d21630")
STARTUP = bytes.fromhex("0000002600030000") + b"user\0alice\0database\0x\0\0"


@dataclass
class Door:
    """A served port: its gate, its number, and the entries behind it."""

    gate: Gate
    port: int
    entry: Entry

    @property
    def table(self) -> Table:
        """What the gateway holds."""
        return self.gate.table

    def change(self, kind: str, key: object, record: Record | None) -> None:
        """Control changes something, as the feed applies it."""
        withdrawn = self.table.apply(Change(self.table.revision + 1, kind, str(key), record))
        self.gate.visits.withdraw(withdrawn)

    async def enter(self, made: IssuedClient | None = ALICES, name: str | None = "") -> TlsClient:
        """A client after its handshake, by the entry's name unless told otherwise."""
        return await connect(self.port, self.entry.host if name == "" else name, made)


@asynccontextmanager
async def door(
    run_dir: Path,
    app: App = echo,
    *records: Record,
    level: Level = Level.PRIVATE,
    random: bool = False,
    phase: JobPhase = JobPhase.RUNNING,
) -> AsyncIterator[Door]:
    """An app behind a bridge behind a tcp entry; Alice owns it and has a certificate, Bob has one as well."""
    server = await asyncio.start_server(_closing(app), "127.0.0.1", 0)
    inner = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(20), asyncio.TaskGroup() as group, server:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            port = listener.getsockname()[1]
            kind = PortKind.RANDOM if random else PortKind.FIXED
            entry = world.entry(protocol=Protocol.TCP, level=level, port_kind=kind, port=port)
            base = (world.job(phase=phase), entry, server_certificate(), client_authority_record())
            table = world.table(*base, record_of(ALICES), record_of(BOBS, 2, client_id=9), *records)
            gate = gates.gate(run_dir, table, drain_s=1.0, dial_s=5.0, tcp_port=1 if random else port)
            async with bridge(run_dir, connects_to(inner)):
                serving = group.create_task(tcp.serve(gate, listener, port=port))
                yield Door(gate, port, entry)
                serving.cancel()
                await asyncio.wait([serving])


def _closing(app: App) -> App:
    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):  # the test cut it
            await app(reader, writer)
        writer.close()

    return run


@both_loops
@pytest.mark.parametrize("random", [False, True], ids=["fixed", "random"])
def test_the_owner_passes_by_certificate(run: Runner, tmp_path: Path, random: bool) -> None:
    """Her certificate, her entry: bytes reach the app and return, on the fixed port and on one of its own."""

    async def body() -> None:
        async with door(tmp_path, random=random) as held:
            client = await held.enter()
            with client.sock:
                await client.send(b"ping")
                assert await client.read(4) == b"ping"
                await client.end()
                assert await client.read() == b""

    run(body())


@both_loops
def test_the_app_may_speak_first(run: Runner, tmp_path: Path) -> None:
    """Nothing waits for the person's first byte."""

    async def body() -> None:
        async with door(tmp_path, greet) as held:
            client = await held.enter()
            with client.sock:
                assert await client.read(11) == b"220 ready\r\n"

    run(body())


@both_loops
def test_a_reply_after_the_end_arrives(run: Runner, tmp_path: Path) -> None:
    """close_notify is the half-close that TLS has."""

    async def body() -> None:
        async with door(tmp_path, reply_after_the_end) as held:
            client = await held.enter()
            with client.sock:
                await client.send(b"abc")
                await client.end()
                assert await client.read() == b"cba"

    run(body())


async def test_the_server_name_says_which_entry_is_meant(tmp_path: Path) -> None:
    """Two entries on the one port; each leads to its own."""
    other = replace(world.entry(18, protocol=Protocol.TCP, level=Level.OPEN), host="b.proxy.localhost")
    async with door(tmp_path) as held:
        held.change("entry", 18, replace(other, port=held.port))
        opened = await held.enter(None, "b.proxy.localhost")
        with opened.sock:
            await opened.send(b"anyone")
            assert await opened.read(6) == b"anyone"
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            await told(held, None)


async def test_an_open_entry_asks_for_no_certificate(tmp_path: Path) -> None:
    """TLS protects the way; who comes does not matter."""
    async with door(tmp_path, level=Level.OPEN) as held:
        client = await held.enter(None)
        with client.sock:
            await client.send(b"ping")
            assert await client.read(4) == b"ping"


async def test_a_certificate_of_another_authority_is_refused_in_the_handshake(tmp_path: Path) -> None:
    """Whatever it says inside."""
    async with door(tmp_path) as held:
        with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
            await told(held, issued(authority=make_client_authority(now=utcnow())))


async def test_an_authority_that_comes_later_is_used_at_once(tmp_path: Path) -> None:
    """Without a restart, and the older one's certificates go on."""
    later = make_client_authority(now=utcnow())
    made = issued(authority=later)
    async with door(tmp_path) as held:
        held.change("authority", "clients-2", Authority("clients-2", later.certificate_pem))
        held.change("client", 10, record_of(made, client_id=10))
        for certificate in (made, ALICES):
            client = await held.enter(certificate)
            with client.sock:
                await client.send(b"x")
                assert await client.read(1) == b"x"


@pytest.mark.parametrize("why", ["withdrawn", "another entry", "not shared with him", "expired"])
async def test_a_certificate_that_counts_for_nothing_ends_in_order(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    """The handshake is right and still nobody comes in; the journal says why."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    made = BOBS if why == "not shared with him" else ALICES
    async with door(tmp_path, greet) as held:
        match why:
            case "withdrawn":
                held.change("client", 8, None)
            case "another entry":
                held.change("client", 8, record_of(ALICES, entry_id=18))
            case "expired":
                held.change("client", 8, replace(record_of(ALICES), expires_at=world.NOW))
        client = await held.enter(made)
        with client.sock:
            assert await client.read() == b""
    code = "entry_forbidden" if made is BOBS else "needs_certificate"
    assert f"refused={code} entry=17 job=jupyter-17 protocol=tcp from=127.0.0.1" in caplog.messages


WITHDRAWALS: dict[str, Callable[[Door], None]] = {
    "the certificate": lambda held: held.change("client", 9, None),
    "the share": lambda held: held.change("grant", 45, None),
    "the user": lambda held: held.change("user", 2, world.user(2, "bob", disabled=True)),
    "the entry": lambda held: held.change("entry", 17, None),
    "the job": lambda held: held.change("job", "jupyter-17", world.job(phase=JobPhase.ENDED)),
}


@both_loops
@pytest.mark.parametrize("what", WITHDRAWALS)
def test_a_withdrawal_cuts_a_live_visit(run: Runner, tmp_path: Path, what: str) -> None:
    """Within the second, and never as an orderly end."""

    async def body() -> None:
        async with door(tmp_path, echo, world.grant()) as held:
            guest, owner = await held.enter(BOBS), await held.enter()
            with guest.sock, owner.sock:
                for client in (guest, owner):
                    await client.send(b"ping")
                    assert await client.read(4) == b"ping"
                WITHDRAWALS[what](held)
                async with asyncio.timeout(1):
                    with pytest.raises(ConnectionError):
                        await guest.read(1)
                if what in ("the certificate", "the share", "the user"):
                    await owner.send(b"still")
                    assert await owner.read(5) == b"still"

    run(body())


async def test_a_certificate_that_runs_out_cuts_its_visit(tmp_path: Path) -> None:
    """As a session's end does."""
    async with door(tmp_path) as held:
        client = await held.enter()
        with client.sock:
            await client.send(b"ping")
            assert await client.read(4) == b"ping"
            held.gate.visits.withdraw(held.table.lapse(world.NOW + 3601))
            with pytest.raises(ConnectionError):
                await client.read(1)


async def test_an_ended_job_ends_the_visit_in_order(tmp_path: Path) -> None:
    """Who may pass is let down without a fault."""
    async with door(tmp_path, phase=JobPhase.ENDED) as held:
        client = await held.enter()
        with client.sock:
            assert await client.read() == b""


# PostgreSQL's opening.


# Hostile hands.


@pytest.mark.parametrize("name", ["c.proxy.localhost", None], ids=["unknown", "none"])
async def test_a_name_that_leads_nowhere_is_told_by_an_alert(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str | None
) -> None:
    """Before any certificate is shown or asked for."""
    caplog.set_level(logging.INFO, logger="gateway.visit")
    async with door(tmp_path) as held:
        with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
            await held.enter(ALICES, name)
    assert "refused=unknown_host entry=- job=- protocol=tcp from=127.0.0.1" in caplog.messages


@pytest.mark.parametrize(
    "first",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x10\x1a\x00\x04MQTT\x04\x02\x00\x3c",
        b"SSH-2.0-x\r\n",
        b"\x16\x03\x01\x40\x01" + bytes(100),
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03",
        b"\x16\x02\x01\x00\x04",
    ],
    ids=["http", "mqtt", "ssh", "long record", "server hello", "short hello", "ssl 2"],
)
async def test_what_is_no_tls_ends_at_once(tmp_path: Path, first: bytes) -> None:
    """Nothing comes back, nothing reaches the app, and the next client is served."""
    async with door(tmp_path, greet) as held:
        with await plain(held.port) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, first)
            assert await whole(sock) == b""
        client = await held.enter()
        with client.sock:
            assert await client.read(3) == b"220"


@pytest.mark.parametrize("first", [b"", b"\x16\x03\x01\x02\x00\x01", SSL_REQUEST, SSL_REQUEST[:3]])
async def test_who_stalls_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bytes) -> None:
    """At the handshake's deadline, wherever they stopped."""
    monkeypatch.setattr(tls, "HANDSHAKE_S", 0.1)
    async with door(tmp_path) as held:
        with await plain(held.port) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, first)
            assert await whole(sock) in (b"", b"S")


async def test_a_session_cannot_be_resumed_without_its_certificate(tmp_path: Path) -> None:
    """No tickets are given: every connection shows its certificate anew."""
    async with door(tmp_path) as held:
        client = await held.enter()
        with client.sock:
            await client.send(b"x")
            assert await client.read(1) == b"x"
            session = client.tls.session
            assert session is None or not session.has_ticket


async def told(held: Door, made: IssuedClient | None) -> None:
    """What a client hears that reads on after its own part of the handshake."""
    client = await held.enter(made)
    with client.sock:
        await client.read()


async def after(held: Door, *asks: bytes) -> TlsClient:
    """A client that has asked PostgreSQL's questions, before its handshake."""
    ready = await plain(held.port)
    loop = asyncio.get_running_loop()
    for ask in asks:
        await loop.sock_sendall(ready, ask)
        assert await loop.sock_recv(ready, 1) == (b"S" if ask == SSL_REQUEST else b"N")
    return TlsClient(ready, client_context(ALICES), held.entry.host)


async def whole(sock: socket.socket) -> bytes:
    """Everything until the end, be it in order or not."""
    loop, found = asyncio.get_running_loop(), b""
    with contextlib.suppress(ConnectionError):
        while part := await loop.sock_recv(sock, 65536):
            found += part
    return found


def test_a_refusal_is_spoken_in_both_languages() -> None:
    """A client that tells no language gets both."""
    said = tcp_tls.spoken(Refusal(Code.NEEDS_CERTIFICATE))
    assert "certificate" in said
    assert "证书" in said
