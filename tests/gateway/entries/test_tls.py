"""The https listener: certificates by name, names that must agree, and peers that stall the handshake."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.local_ca import Authority, issue, make_authority
from gateway.contract.routes import Certificate, Level
from gateway.core.refusals import Code, Refusal
from gateway.core.websocket import close_frame
from gateway.entries import tls
from tests.gateway import world
from tests.gateway.entries.http.house import House, Peer, crlf, open_house, tidy, visit
from tests.gateway.entries.http.test_conversation import PAGE
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, echo_heads, get

NAMES = ("*.proxy.localhost", "proxy.localhost", "console.localhost")
TODAY = datetime.now(UTC)  # noqa: TID251 - real TLS clients compare with the real day


@pytest.fixture(scope="module")
def authority() -> Authority:
    """A CA for the base domain."""
    return make_authority([*NAMES, "custom.example"], now=TODAY)


def issued(authority: Authority, key: str, *names: str, default: bool = False) -> Certificate:
    """A certificate record."""
    made = issue(authority, names, now=TODAY)
    return Certificate(key, names, made.chain_pem, made.key_pem, default)


@asynccontextmanager
async def open_tls_house(tmp_path: Path, authority: Authority, app: object = echo_heads) -> AsyncIterator[House]:
    """An https house with the default certificate."""
    default = issued(authority, "default", *NAMES, default=True)
    async with open_house(tmp_path, app, default, scheme="https", level=Level.OPEN) as house:  # type: ignore[arg-type] # an App
        yield house


def trusting(authority: Authority) -> ssl.SSLContext:
    """A client's context that trusts the CA and nothing else."""
    return ssl.create_default_context(cadata=authority.certificate_pem)


@asynccontextmanager
async def visit_tls(house: House, authority: Authority, name: str | None = None) -> AsyncIterator[Peer]:
    """A TLS connection that asks for the entry's name, or another."""
    async with visit(house, ssl=trusting(authority), server_hostname=name or house.entry.host) as peer:
        yield peer


async def ends(peer: Peer) -> bool:
    """Whether the connection ends, in order or by a reset, without a byte."""
    try:
        return await peer.rest() == b""
    except ConnectionResetError:
        return True


async def test_an_entry_over_tls(tmp_path: Path, authority: Authority) -> None:
    """The certificate is trusted, the app hears of https, HTTP/1.1 is agreed on."""
    async with open_tls_house(tmp_path, authority) as house, visit_tls(house, authority) as peer:
        for _ in range(2):
            await peer.send(get(house))
            status, _, body = await peer.response()
            assert status == 200
            assert b"X-Forwarded-Proto: https\r\n" in body
            assert f"X-Forwarded-Port: {house.port}\r\n".encode() in body


async def test_names_must_agree(tmp_path: Path, authority: Authority) -> None:
    """Host is compared with the handshake's name at each request, not the first only (B57)."""
    async with open_tls_house(tmp_path, authority) as house, visit_tls(house, authority) as peer:
        await peer.send(get(house))
        assert (await peer.response())[0] == 200
        await peer.send("GET / HTTP/1.1\nHost: other.proxy.localhost\n\n")
        status, head, _ = await peer.response()
        assert status == 421
        assert b"X-Starlight-Reason: misdirected\r\n" in head


async def test_a_certificate_that_comes_or_changes_is_used_at_once(tmp_path: Path, authority: Authority) -> None:
    """For new handshakes; connections that stand keep theirs."""
    async with open_tls_house(tmp_path, authority) as house, visit_tls(house, authority) as before:
        with pytest.raises(ssl.SSLCertVerificationError):
            async with visit_tls(house, authority, "custom.example"):
                pass
        house.change(issued(authority, "custom", "custom.example"))
        async with visit_tls(house, authority, "custom.example") as peer:
            first = peer.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        house.change(issued(authority, "custom", "custom.example"))
        async with visit_tls(house, authority, "custom.example") as peer:
            assert peer.writer.get_extra_info("ssl_object").getpeercert(binary_form=True) != first
        await before.send(get(house))
        assert (await before.response())[0] == 200


async def test_the_hop_over_tls_sets_prefixed_cookies(tmp_path: Path, authority: Authority) -> None:
    """No other host of the domain can set a cookie of that name."""
    async with open_tls_house(tmp_path, authority) as house, visit_tls(house, authority) as peer:
        house.change(world.entry(17, protocol=house.entry.protocol, port=house.port))
        await peer.send(get(house, more=PAGE))
        status, head, _ = await peer.response()
        assert status == 303
        assert b"Set-Cookie: __Host-starlight_state_" in head
        assert b"; SameSite=Lax; Secure\r\n" in head
        await peer.send(get(house, more=f"Cookie: {house.ticket()}\n"))
        assert (await peer.response())[0] == 200


async def test_a_tunnel_over_tls_and_its_goodbye(tmp_path: Path, authority: Authority) -> None:
    """Bytes both ways, and a close frame when the right is withdrawn."""

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(crlf(SWITCH))
        while data := await reader.read(1 << 16):
            writer.write(data)

    async with open_tls_house(tmp_path, authority, app) as house, visit_tls(house, authority) as peer:
        await peer.send(get(house, more=UPGRADE))
        await peer.head()
        await peer.send(bytes(100_000))
        assert await peer.exactly(100_000) == bytes(100_000)
        house.remove(house.entry)
        assert await peer.rest() == close_frame(Refusal(Code.WITHDRAWN))


async def test_a_cut_answer_over_tls_stops_the_app(tmp_path: Path, authority: Authority) -> None:
    """It is no orderly end, and nothing is downloaded for nobody (B60)."""
    ended = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
        try:
            while True:
                writer.write(bytes(1 << 16))
                await writer.drain()
        finally:
            ended.set()

    async with open_tls_house(tmp_path, authority, app) as house, visit_tls(house, authority) as peer:
        await peer.send(get(house))
        await peer.head()
        house.remove(house.entry)
        async with asyncio.timeout(5):
            await ended.wait()
            got = 0
            try:
                while data := await peer.reader.read(1 << 20):
                    got += len(data)
            except (ConnectionResetError, ssl.SSLError):
                pass
        assert got < 64 << 20


async def test_plain_http_on_the_https_port(tmp_path: Path, authority: Authority) -> None:
    """A browser is sent to the same address with https, a program is told."""
    async with open_tls_house(tmp_path, authority) as house:
        async with visit(house) as peer:
            await peer.send(get(house, "/a?b", PAGE))
            status, head, _ = await peer.response()
            assert status == 302
            assert f"Location: https://{house.host}/a?b\r\n".encode() in head
        async with visit(house) as peer:
            await peer.send(get(house))
            assert (await peer.response())[0] == 426


@pytest.mark.parametrize("first", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"])
async def test_a_stalled_handshake_ends(
    tmp_path: Path, authority: Authority, first: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing, or half a hello, and then silence: the descriptor is freed and others are served (B61)."""
    monkeypatch.setattr(tls, "HANDSHAKE_S", 0.3)
    async with open_tls_house(tmp_path, authority) as house, visit(house) as stalled:
        await stalled.send(first)
        async with visit_tls(house, authority) as peer:
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
        assert await ends(stalled)


async def test_a_hello_in_two_parts(tmp_path: Path, authority: Authority) -> None:
    """As browsers with large key shares send it."""
    async with open_tls_house(tmp_path, authority) as house:
        context = trusting(authority)
        outgoing, incoming = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(incoming, outgoing, server_hostname=house.entry.host)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        hello = outgoing.read()
        async with visit(house) as peer:
            for part in (hello[:3], hello[3:100], hello[100:]):
                await peer.send(part)
                await asyncio.sleep(0.05)
            assert (await peer.exactly(2)) == b"\x16\x03"


@pytest.mark.parametrize("first", [b"SSH-2.0-x\r\n", b"\x80\x00\x00\x00", b"\x16\x03\x01\x00\x00"])
async def test_garbage_ends_at_once(tmp_path: Path, authority: Authority, first: bytes) -> None:
    """Neither TLS nor HTTP, or TLS that is none."""
    async with open_tls_house(tmp_path, authority) as house, visit(house) as peer:
        await peer.send(first)
        assert await ends(peer)


async def test_no_certificate_no_handshake(tmp_path: Path) -> None:
    """The connection ends; the listener goes on."""
    async with open_house(tmp_path, echo_heads, scheme="https") as house:
        for _ in range(2):
            with pytest.raises(OSError, match=r"."):
                await asyncio.open_connection("127.0.0.1", house.port, ssl=True, server_hostname=house.entry.host)


def test_old_tls_is_not_spoken(authority: Authority) -> None:
    """TLS 1.2 is the oldest, and of its ciphers only those that HTTP/2 allows are left."""
    context = tls.server_context(issued(authority, "c", "a.proxy.localhost"))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert all(cipher["aead"] for cipher in context.get_ciphers())


async def test_a_connection_is_resumed_by_the_ticket_of_the_last_one(tmp_path: Path, authority: Authority) -> None:
    """One ticket comes with each connection, and it is good for the next."""
    context = trusting(authority)

    def ask(house: House, session: ssl.SSLSession | None) -> tuple[bool, ssl.SSLSession | None]:
        with (
            socket.create_connection(("127.0.0.1", house.port), timeout=10) as sock,
            context.wrap_socket(sock, server_hostname=house.entry.host, session=session) as secured,
        ):
            secured.sendall(get(house).replace("\n", "\r\n").encode())
            assert secured.recv(65536).startswith(b"HTTP/1.1 200")
            return bool(secured.session_reused), secured.session

    async with open_tls_house(tmp_path, authority) as house:
        reused, session = await asyncio.to_thread(ask, house, None)
        assert not reused
        assert session is not None
        assert session.has_ticket
        assert (await asyncio.to_thread(ask, house, session))[0]


async def test_greeting_leaves_the_bytes_where_they_are() -> None:
    """They are looked at, not taken."""
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        right.send(b"GET / HTTP/1.1\r\n")
        assert (await tls.greeting(left)).server_name is None
        assert left.recv(100) == b"GET / HTTP/1.1\r\n"


async def test_the_console_by_its_name(tmp_path: Path, authority: Authority) -> None:
    """On the https port, beside the entries."""

    async def control(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)

    async with (
        await asyncio.start_unix_server(tidy(control), tmp_path / "control.sock"),
        open_tls_house(tmp_path, authority) as house,
        visit_tls(house, authority, "console.localhost") as peer,
    ):
        await peer.send(f"GET /jobs HTTP/1.1\nHost: console.localhost:{house.port}\n\n")
        status, _, body = await peer.response()
        assert status == 200
        assert b"X-Forwarded-Proto: https\r\n" in body


async def test_a_bad_pair_harms_only_its_own_name(tmp_path: Path, authority: Authority) -> None:
    """A handshake for it fails; the neighbours' go on, and its own once it is mended (B55)."""
    good, other = issued(authority, "good", "custom.example"), issued(authority, "other", "x.proxy.localhost")
    async with open_tls_house(tmp_path, authority) as house:
        house.change(Certificate("good", good.names, good.chain_pem, other.key_pem))
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with visit_tls(house, authority, "custom.example"):
                pass
        async with visit_tls(house, authority) as peer:
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
        house.change(good)
        async with visit_tls(house, authority, "custom.example"):
            pass


def test_ten_thousand_certificates_cost_what_ten_do(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-up takes microseconds, a change does not go through all, and no more contexts are kept than the limit."""
    monkeypatch.setattr(tls, "CONTEXTS_KEPT", 2)
    pair = issued(authority, "default", *NAMES, default=True)
    many = [Certificate(f"c{n}", (f"h{n}.example", f"*.w{n}.example"), "chain", "key") for n in range(10_000)]
    table = world.table(pair, *many)
    made: list[str] = []

    def make(certificate: Certificate) -> ssl.SSLContext:
        made.append(certificate.id)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    contexts = tls.Contexts(table, make)
    for name in ("h9999.example", "x.w5000.example", "nobody.example", "h9999.example", "nobody.example"):
        assert contexts.find(name) is not None
    assert made == ["c9999", "c5000", "default", "c9999"]
    began = time.perf_counter()
    for n in range(10_000):
        table.certificate_named(f"h{n}.example")
        contexts.find("nobody.example")
    assert time.perf_counter() - began < 1.0  # 0.03 s measured; the time of a list of all would be minutes
