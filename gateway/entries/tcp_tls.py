"""TLS at a tcp entry: how a client begins, which certificate it is shown, and who it turns out to be.

On the fixed port the server name (SNI) says which entry is meant; on a port of its own the port does.
An entry of level open asks for no certificate; at every other level the client shows the one that the
console issued to its person for this entry. A PostgreSQL client, which asks in the clear whether TLS
may follow, is answered in its own tongue.

State: TLS contexts for the certificates and authorities in use.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gateway.contract.routes import Authority, Certificate, Entry, Level, Protocol
from gateway.core.postgres import (
    NO_GSSENC,
    REQUEST_BYTES,
    TLS_FOLLOWS,
    Opening,
    error_response,
    read_opening,
)
from gateway.core.refusals import Code, Refusal, next_step, sentence
from gateway.core.sniff import Speech
from gateway.core.table import Table
from gateway.core.tickets import ANONYMOUS, Visitor, by_certificate
from gateway.entries import tls
from gateway.wire.secured import Secured

FAREWELL_S: Final = 2.0
"""Seconds for a client to take a refusal before its connection is closed."""
_ALPN: Final = ("postgresql", "mqtt")
"""Protocols that clients ask for by name; whatever else they speak needs no name."""
_OPENINGS: Final = 3
"""GSSENCRequest, SSLRequest, ClientHello."""
_UNKNOWN_NAME: Final = bytes.fromhex("15 0301 0002 02 70")
"""A fatal alert: unrecognized_name (RFC 6066, 3)."""

Find = Callable[[str | None], Entry | None]
"""The entry that a connection means, by the server name it asked for."""


class RefusedError(Exception):
    """The client is not let in; it was told so if its protocol has a way to."""

    def __init__(self, refusal: Refusal, entry: Entry | None) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal
        self.entry = entry


@dataclass(frozen=True, slots=True)
class Met:
    """A client after its handshake: where it wants to go, and who it proved to be."""

    entry: Entry
    visitor: Visitor
    secured: Secured
    postgres: bool

    async def refuse(self, refusal: Refusal) -> None:
        """Ends in order: a PostgreSQL client is told the sentence, for any other the end has to do."""
        if self.postgres:
            self.secured.seal(error_response(spoken(refusal)))
        self.secured.end()
        await self.secured.flush()
        await part(self.secured.sock)


class Reception:
    """Meets the TLS clients of one process."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open = tls.Contexts(table, lambda certificate: _context(certificate, ()))
        self._authorities: tuple[Authority, ...] = ()
        self._named = self._open

    async def meet(self, sock: socket.socket, find: Find) -> Met:
        """The client, once its handshake is done; it has HANDSHAKE_S seconds.

        Raises RefusedError, ConnectionError, TimeoutError, ssl.SSLError, and ValueError for a malformed hello.
        """
        async with asyncio.timeout(tls.HANDSHAKE_S):
            postgres = await _open_postgres(sock)
            greeting = await tls.greeting(sock)
            if greeting.speech is not Speech.TLS:
                await part(sock)
                raise RefusedError(Refusal(Code.NEEDS_TLS), find(None))
            entry = find(greeting.server_name)
            if entry is None or entry.protocol is not Protocol.TCP:
                await _reply(sock, _UNKNOWN_NAME)
                raise RefusedError(Refusal(Code.UNKNOWN_HOST), None)
            context = self._contexts(entry.level).find(greeting.server_name)
            if context is None:
                raise ssl.SSLError("there is no certificate yet")
            secured = Secured(sock, context)
            try:
                await secured.shake_hands()
            except ssl.SSLError:
                await part(sock)  # so that the alert arrives before the end
                raise
        return Met(entry, self._visitor(entry, secured.fingerprint()), secured, postgres)

    def _contexts(self, level: Level) -> tls.Contexts:
        if level is Level.OPEN:
            return self._open
        now = tuple(self._table.authorities())
        if now != self._authorities or self._named is self._open:
            self._authorities = now
            self._named = tls.Contexts(self._table, lambda certificate: _context(certificate, now, asks=True))
        return self._named

    def _visitor(self, entry: Entry, fingerprint: str | None) -> Visitor:
        found = None if fingerprint is None else by_certificate(fingerprint, self._table, entry)
        return found or ANONYMOUS


async def part(sock: socket.socket) -> None:
    """Ends our side and reads past what still comes, for a moment: closing at once would reset the last words away."""
    loop = asyncio.get_running_loop()
    try:
        sock.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(FAREWELL_S):
            while await loop.sock_recv(sock, 4096):
                pass
    except (OSError, TimeoutError):
        return


def spoken(refusal: Refusal) -> str:
    """A refusal for a client that tells no language: in both."""
    return " / ".join(f"{sentence(refusal, language)} {next_step(refusal, language)}" for language in ("en", "zh"))


async def _open_postgres(sock: socket.socket) -> bool:
    """Answers what a PostgreSQL client asks before TLS; whether it is one. Exactly the request's bytes are taken."""
    for count in range(_OPENINGS):
        opening, first = None, b""
        while opening is None:
            first = await tls.peek(sock, len(first))
            opening = read_opening(first)
        match opening:
            case Opening.OTHER:
                return count > 0
            case Opening.SSL | Opening.GSSENC:
                sock.recv(REQUEST_BYTES)
                await _reply(sock, TLS_FOLLOWS if opening is Opening.SSL else NO_GSSENC)
                if opening is Opening.SSL:
                    return True
            case _:
                refusal = Refusal(Code.NEEDS_TLS)
                await _reply(sock, error_response(spoken(refusal)) if opening is Opening.PLAIN else b"")
                await part(sock)
                raise RefusedError(refusal, None)
    raise ConnectionResetError("no end of PostgreSQL's requests")


async def _reply(sock: socket.socket, data: bytes) -> None:
    await asyncio.get_running_loop().sock_sendall(sock, data)


def _context(certificate: Certificate, authorities: tuple[Authority, ...], *, asks: bool = False) -> ssl.SSLContext:
    context = tls.server_context(certificate, alpn=_ALPN)
    # A resumed session would not show its certificate again, and siblings could not resume it anyway.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        for authority in authorities:
            context.load_verify_locations(cadata=authority.certificate_pem)
    return context
