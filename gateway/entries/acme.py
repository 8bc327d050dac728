"""Answers a certificate authority that looks at a domain: over HTTP, or in a TLS handshake (RFC 8555 8.3, RFC 8737).

Authorities call ports 80 and 443 only, so these are ports of their own where no entry lives on them. Nothing else is
served here; a browser that comes to port 80 is sent on to the https entry of that name. Every look has a deadline,
little room, and few others beside it: where many are silent, the one that has been so for longest makes room.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, Never

from certs.acme import validation_pair
from gateway.contract.challenges import Challenge
from gateway.contract.routes import Certificate, Protocol
from gateway.core.challenges import ACME_TLS, MEDIA_TYPE, http_answer, tls_challenge
from gateway.core.hello import Hello, read_hello
from gateway.core.http1 import RequestHead, head_end, parse_request, split_host
from gateway.entries import tls
from gateway.wire.gate import Gate
from gateway.wire.secured import Secured

log = logging.getLogger(__name__)

LOOK_S: Final = 10.0
"""Seconds for one look, from its first moment to its end."""
AT_ONCE: Final = 128
"""Looks at a time; who comes beyond that ends the oldest. An authority says all at once, and does not wait long."""
_HEAD_BYTES: Final = 8 * 1024
_FULL_PAUSE_S: Final = 0.1
_LINGER_S: Final = 1.0
_NO_PROTOCOL: Final = bytes.fromhex("15 0301 0002 02 78")
"""A fatal alert: no_application_protocol (RFC 7301, 3.2)."""

_Look = Callable[[Gate, socket.socket], Awaitable[None]]


async def serve_http(gate: Gate, listener: socket.socket) -> Never:
    """Serves what the world knows as port 80 until cancelled; the listener stays the caller's."""
    await _serve(gate, listener, _http_look)


async def serve_tls(gate: Gate, listener: socket.socket) -> Never:
    """Serves what the world knows as port 443 until cancelled; the listener stays the caller's."""
    await _serve(gate, listener, _tls_look)


async def validated(gate: Gate, sock: socket.socket, hello: Hello) -> None:
    """The handshake of a validation, whose first bytes are still in the socket, and no byte more (RFC 8737, 3).

    The deadline, and closing the socket, are the caller's. Raises OSError, or ssl.SSLError.
    """
    challenge = tls_challenge(gate.table, hello)
    if challenge is None:
        await asyncio.get_running_loop().sock_sendall(sock, _NO_PROTOCOL)
        return
    secured = Secured(sock, _context(challenge, gate.now()))
    await secured.shake_hands()
    secured.end()
    await secured.flush()


async def _serve(gate: Gate, listener: socket.socket, look: _Look) -> Never:
    loop, running = asyncio.get_running_loop(), dict[asyncio.Task[None], None]()
    listener.setblocking(False)
    async with asyncio.TaskGroup() as looks:
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError as fault:  # no descriptor is free
                log.warning("cannot accept: %s", fault)
                await asyncio.sleep(_FULL_PAUSE_S)
                continue
            if len(running) >= AT_ONCE:
                next(iter(running)).cancel()
            task = looks.create_task(_one(gate, sock, look))
            running[task] = None
            task.add_done_callback(running.pop)
            await asyncio.sleep(0)  # it begins, so that its socket is its own; and others have their turn


async def _one(gate: Gate, sock: socket.socket, look: _Look) -> None:
    with sock:
        sock.setblocking(False)
        try:
            async with asyncio.timeout(LOOK_S):
                await look(gate, sock)
        except (OSError, ValueError, TimeoutError) as fault:
            log.debug("a look ended: %s", fault)
        except Exception:  # one look's fault ends that look
            log.exception("a look failed")


async def _tls_look(gate: Gate, sock: socket.socket) -> None:
    hello, seen = None, 0
    while hello is None:
        first = await tls.peek(sock, seen)
        hello, seen = read_hello(first), len(first)
    await validated(gate, sock, hello)


def _context(challenge: Challenge, now: float) -> ssl.SSLContext:
    moment = datetime.fromtimestamp(now, UTC)
    chain_pem, key_pem = validation_pair(challenge.id, challenge.authorization, now=moment)
    return tls.server_context(Certificate(challenge.id, (challenge.id,), chain_pem, key_pem), alpn=(ACME_TLS,))


async def _http_look(gate: Gate, sock: socket.socket) -> None:
    loop, held, end = asyncio.get_running_loop(), b"", -1
    while end < 0:
        piece = await loop.sock_recv(sock, _HEAD_BYTES)
        held += piece
        if not piece or len(held) > _HEAD_BYTES:
            return
        end = head_end(held)
    await loop.sock_sendall(sock, _response(gate, parse_request(held[:end])))
    sock.shutdown(socket.SHUT_WR)
    async with asyncio.timeout(_LINGER_S):  # closing with bytes unread would reset the answer away
        while await loop.sock_recv(sock, _HEAD_BYTES):
            pass


def _response(gate: Gate, head: RequestHead) -> bytes:
    body = http_answer(gate.table, head)
    if body is not None:
        return _message(head, HTTPStatus.OK, body, f"Content-Type: {MEDIA_TYPE}")
    host, _ = split_host(head.host)
    entry = gate.table.entry_by_name(host)
    if entry is None or entry.protocol is not Protocol.HTTPS or not head.target.startswith(b"/"):
        return _message(head, HTTPStatus.NOT_FOUND, b"", "Content-Type: text/plain")
    port = "" if entry.port == 443 else f":{entry.port}"
    where = f"https://{entry.host}{port}{head.target.decode('latin-1')}"
    return _message(head, HTTPStatus.PERMANENT_REDIRECT, b"", f"Location: {where}")


def _message(head: RequestHead, status: HTTPStatus, body: bytes, field: str) -> bytes:
    lines = (
        f"HTTP/1.1 {status} {status.phrase}",
        field,
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    )
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (b"" if head.method == b"HEAD" else body)
