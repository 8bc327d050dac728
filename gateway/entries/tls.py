"""TLS at the door: the first bytes are looked at, the certificate for the wanted name is taken, the handshake is made.

State: a context for each certificate record in use; a record that changes gets a new one, and
connections that stand keep theirs.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from certs.choose import choose
from gateway.contract.routes import Certificate
from gateway.core.hello import HELLO_LIMIT, Hello, read_hello
from gateway.core.sniff import Speech, sniff
from gateway.core.table import Table

HANDSHAKE_S: Final = 10.0
"""Seconds from a connection's first moment until TLS stands."""
CONTEXTS_KEPT: Final = 2000
"""TLS contexts that one listener keeps; of more certificates those not asked for lately are made again."""
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, those with forward secrecy and authenticated encryption: HTTP/2 forbids the rest (RFC 9113, 9.2.2)."""
_RECORDS_LIMIT: Final = HELLO_LIMIT + 1024


@dataclass(frozen=True, slots=True)
class Greeting:
    """How a connection began: TLS with this hello, or plain HTTP where TLS was expected."""

    speech: Speech
    hello: Hello | None = None

    @property
    def server_name(self) -> str | None:
        """The name that TLS asks for."""
        return None if self.hello is None else self.hello.server_name


async def greeting(sock: socket.socket) -> Greeting:
    """What the peer's first bytes say; they stay in the socket.

    Raises ConnectionError when the peer ends or speaks something else, ValueError for a malformed hello.
    """
    seen = 0
    while True:
        first = await peek(sock, seen)
        speech = sniff(first)
        if speech is Speech.HTTP:
            return Greeting(speech)
        if speech is Speech.TLS:
            hello = read_hello(first)
            if hello is not None:
                return Greeting(speech, hello)
        elif speech is not None:
            raise ConnectionResetError("the peer speaks neither TLS nor HTTP")
        seen = len(first)


async def peek(sock: socket.socket, seen: int) -> bytes:
    """The peer's first bytes, more than the `seen` ones; they stay in the socket.

    Raises ConnectionError when the peer ends before.
    """
    first = _peeked(sock)
    if first is None or 0 < len(first) <= seen:
        await _readable(sock, seen + 1)
        first = _peeked(sock) or b""
    if len(first) <= seen:
        raise ConnectionResetError("the peer ended before it said what it speaks")
    return first


def _peeked(sock: socket.socket) -> bytes | None:
    """What has come; nothing at the peer's end, None when nothing came yet."""
    try:
        return sock.recv(_RECORDS_LIMIT, socket.MSG_PEEK)
    except BlockingIOError:
        return None


async def _readable(sock: socket.socket, count: int) -> None:
    """Waits until `count` bytes can be peeked at, or the peer ended; does not spin on those that are there."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
    loop.add_reader(sock.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock.fileno())
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


class Contexts:
    """TLS contexts by server name, made from the table's certificates as they are now; the last used ones are kept."""

    def __init__(self, table: Table, make: Callable[[Certificate], ssl.SSLContext] | None = None) -> None:
        """`make` gives the context for a certificate; `server_context` when it is left out."""
        self._table = table
        self._make = make or server_context
        self._made: OrderedDict[str, tuple[Certificate, ssl.SSLContext]] = OrderedDict()

    def find(self, server_name: str | None) -> ssl.SSLContext | None:
        """The context for a name, or for those that name none or an unknown one; None without any certificate.

        Raises ssl.SSLError for a pair that does not fit: it harms those who ask for its own name only.
        """
        certificate = choose(server_name, self._table.certificate_named, self._table.default_certificate)
        if certificate is None:
            return None
        kept = self._made.get(certificate.id)
        if kept is None or kept[0] != certificate:
            kept = self._made[certificate.id] = certificate, self._make(certificate)
        self._made.move_to_end(certificate.id)
        if len(self._made) > CONTEXTS_KEPT:
            self._made.popitem(last=False)
        return kept[1]


def server_context(certificate: Certificate, *, alpn: Sequence[str] = ("http/1.1",)) -> ssl.SSLContext:
    """TLS 1.2 and later with this certificate, these protocols by ALPN.

    Raises ssl.SSLError for a pair that does not fit.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(list(alpn))
    context.num_tickets = 1  # enough to resume by (RFC 8446, 4.6.1); OpenSSL's two cost a fifth of a handshake each
    # The ssl module reads key and chain from a path only: an anonymous file, so that no key lies on a disk.
    descriptor = os.memfd_create("certificate")
    with open(descriptor, "wb") as pem:  # noqa: PTH123 - a descriptor, not a path
        pem.write(f"{certificate.key_pem}\n{certificate.chain_pem}\n".encode())
        pem.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    return context
