"""A certificate authority's looks, as it makes them: a path on one port, a handshake on another; on both loops."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509

from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.contract.routes import Protocol
from gateway.entries import acme, http
from gateway.wire.gate import Gate
from tests.gateway import gates, world
from tests.gateway.loops import Runner, both_loops

LAB = Challenge("lab.example.org", ChallengeKind.HTTP, "tok-1", "tok-1.thumb")
SHOP = Challenge("shop.example.org", ChallengeKind.TLS, "tok-2", "tok-2.thumb")
PATH = "/.well-known/acme-challenge/tok-1"


@asynccontextmanager
async def served(run_dir: Path, serve: Callable[[Gate, socket.socket], Awaitable[None]]) -> AsyncIterator[int]:
    """The port on which looks are answered."""
    own = world.entry(protocol=Protocol.HTTPS, port=8443, host="shop.example.org")
    gate = gates.gate(run_dir, world.table(world.job(), own, LAB, SHOP), drain_s=0.2)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            serving = group.create_task(_run(serve, gate, listener))
            yield listener.getsockname()[1]
            serving.cancel()
            await asyncio.wait([serving])


async def _run(serve: Callable[[Gate, socket.socket], Awaitable[None]], gate: Gate, listener: socket.socket) -> None:
    await serve(gate, listener)


async def say(port: int, request: bytes) -> bytes:
    """What comes back until the other side ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def get(host: str, target: str, method: str = "GET") -> bytes:
    """A request without a body."""
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


@both_loops
def test_a_path_is_answered_and_browsers_are_sent_on(run: Runner, tmp_path: Path) -> None:
    """The key authorization and nothing around it; the https entry of that name; else 404. HEAD has no body."""

    async def check() -> None:
        async with served(tmp_path, acme.serve_http) as port:
            head, _, body = (await say(port, get("lab.example.org", PATH))).partition(b"\r\n\r\n")
            assert (head.startswith(b"HTTP/1.1 200 "), body) == (True, b"tok-1.thumb")
            assert (await say(port, get("lab.example.org", PATH, "HEAD"))).endswith(b"\r\n\r\n")
            assert (await say(port, get("www.example.org", PATH))).startswith(b"HTTP/1.1 404 ")
            moved = await say(port, get("shop.example.org", "/a?b=c"))
            assert moved.startswith(b"HTTP/1.1 308 ")
            assert b"\r\nLocation: https://shop.example.org:8443/a?b=c\r\n" in moved

    run(check())


@both_loops
def test_what_is_no_request_gets_no_answer(run: Runner, tmp_path: Path) -> None:
    """Too long, malformed, or gone: the connection ends, and the next look is served."""

    async def check() -> None:
        async with served(tmp_path, acme.serve_http) as port:
            assert await say(port, b"nonsense\r\n\r\n") == b""
            with contextlib.suppress(ConnectionError):
                assert await say(port, b"GET / HTTP/1.1\r\nX: " + b"x" * 60_000) == b""
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            assert (await say(port, get("lab.example.org", PATH))).endswith(b"tok-1.thumb")

    run(check())


@both_loops
def test_many_who_say_nothing_keep_nobody_out(run: Runner, tmp_path: Path) -> None:
    """Those who have been silent for longest make room at once; an authority waits for some seconds only."""

    async def check() -> None:
        async with served(tmp_path, acme.serve_http) as port:
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2 * acme.AT_ONCE + 10)]
            async with asyncio.timeout(acme.LOOK_S / 2):
                assert (await say(port, get("lab.example.org", PATH))).endswith(b"tok-1.thumb")
                assert await silent[0][0].read() == b""
            for _, writer in silent:
                writer.close()

    run(check())


async def shake(port: int, name: str, alpn: list[str]) -> tuple[str | None, bytes]:
    """A handshake without a look at the certificate: the protocol that was agreed on, and the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(alpn)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
    tls = writer.get_extra_info("ssl_object")
    shown = tls.selected_alpn_protocol(), tls.getpeercert(binary_form=True)
    assert await reader.read() == b""  # no byte more
    writer.close()
    return shown


@both_loops
def test_a_validation_handshake_shows_the_digest(run: Runner, tmp_path: Path) -> None:
    """By its protocol, with one name and the critical extension (RFC 8737 section 3)."""

    async def check() -> None:
        async with served(tmp_path, acme.serve_tls) as port:
            protocol, der = await shake(port, "shop.example.org", ["acme-tls/1"])
            assert protocol == "acme-tls/1"
            held = x509.load_der_x509_certificate(der).extensions
            names = held.get_extension_for_class(x509.SubjectAlternativeName).value
            assert names.get_values_for_type(x509.DNSName) == ["shop.example.org"]
            digest = held.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31"))
            assert digest.critical
            assert digest.value.public_bytes().endswith(hashlib.sha256(b"tok-2.thumb").digest())

    run(check())


@both_loops
@pytest.mark.parametrize(
    ("name", "alpn"),
    [
        ("lab.example.org", ["acme-tls/1"]),
        ("shop.example.org", ["http/1.1"]),
        ("shop.example.org", ["acme-tls/1", "h2"]),
    ],
)
def test_every_other_handshake_is_refused_in_its_own_tongue(
    run: Runner, tmp_path: Path, name: str, alpn: list[str]
) -> None:
    """No challenge of this name, or no validation at all."""

    async def check() -> None:
        async with served(tmp_path, acme.serve_tls) as port:
            with pytest.raises(ssl.SSLError, match="no application protocol"):
                await shake(port, name, alpn)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)):
                await shake_nothing(port)
            assert (await shake(port, "shop.example.org", ["acme-tls/1"]))[0] == "acme-tls/1"

    run(check())


async def shake_nothing(port: int) -> None:
    """A peer that speaks no TLS."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\n\r\n")
    await reader.readexactly(1)


async def _http(gate: Gate, listener: socket.socket) -> None:
    await http.serve(gate, listener, scheme="http", port=80)


async def _https(gate: Gate, listener: socket.socket) -> None:
    await http.serve(gate, listener, scheme="https", port=443)


@both_loops
def test_entries_listeners_answer_where_the_worlds_ports_are_theirs(run: Runner, tmp_path: Path) -> None:
    """Port 80 for http entries, or a forward to it: a path of a domain that has no entry there; 443 likewise."""

    async def check() -> None:
        async with served(tmp_path, _http) as port:
            closing = get("lab.example.org", PATH).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            head, _, body = (await say(port, closing)).partition(b"\r\n\r\n")
            assert (head.startswith(b"HTTP/1.1 200 "), body) == (True, b"tok-1.thumb")
            assert b" 404 " in (await say(port, closing.replace(b"tok-1", b"tok-9"))).split(b"\r\n")[0]
        async with served(tmp_path, _https) as port:
            assert (await shake(port, "shop.example.org", ["acme-tls/1"]))[0] == "acme-tls/1"
            with pytest.raises(ssl.SSLError, match="no application protocol"):
                await shake(port, "lab.example.org", ["acme-tls/1"])

    run(check())
