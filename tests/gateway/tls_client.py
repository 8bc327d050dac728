"""A TLS client for tests whose directions end one by one, and the certificates that it needs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from functools import lru_cache

from certs.client_ca import IssuedClient, issue_client, make_client_authority
from certs.local_ca import Authority, issue, make_authority
from control.clock import utcnow
from gateway.contract.people import ClientCertificate
from gateway.contract.routes import Authority as AuthorityRecord
from gateway.contract.routes import Certificate
from tests.gateway import world

DOMAIN = "proxy.localhost"


@lru_cache(maxsize=1)
def server_authority() -> Authority:
    """Who vouches for the gateway."""
    return make_authority([DOMAIN], now=utcnow())


@lru_cache(maxsize=1)
def server_certificate() -> Certificate:
    """The gateway's certificate, as a record."""
    made = issue(server_authority(), [DOMAIN, f"*.{DOMAIN}"], now=utcnow())
    return Certificate("base", made.names, made.chain_pem, made.key_pem, default=True)


@lru_cache(maxsize=1)
def client_authority() -> Authority:
    """Who signs client certificates."""
    return make_client_authority(now=utcnow())


def client_authority_record() -> AuthorityRecord:
    """It, as gateways know it."""
    return AuthorityRecord("clients-1", client_authority().certificate_pem)


def issued(user: str = "alice", *, authority: Authority | None = None) -> IssuedClient:
    """A fresh client certificate."""
    return issue_client(authority or client_authority(), user=user, entry=f"{17:032x}", now=utcnow())


def record_of(made: IssuedClient, user_id: int = 1, *, entry_id: int = 17, client_id: int = 8) -> ClientCertificate:
    """A certificate that stands, as gateways know it."""
    return world.client(client_id, user_id, entry_id=entry_id, fingerprint=made.fingerprint)


def client_context(made: IssuedClient | None = None) -> ssl.SSLContext:
    """Trusts the gateway's authority and shows this certificate."""
    context = ssl.create_default_context(cadata=server_authority().certificate_pem)
    if made is not None:
        descriptor = os.memfd_create("client")
        with open(descriptor, "wb") as pem:  # noqa: PTH123 - a descriptor, not a path
            pem.write(f"{made.key_pem}\n{made.certificate_pem}".encode())
            pem.flush()
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    return context


class TlsClient:
    """One connection. `cut` tells that it ended without close_notify."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, name: str | None) -> None:
        self.sock = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        if name is None:
            context.check_hostname = False
        self.tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)

    async def shake_hands(self) -> None:
        """The handshake. Raises ssl.SSLError or ConnectionError."""
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._take()
        await self._flush()

    async def send(self, data: bytes) -> None:
        """Sends it all."""
        self.tls.write(data)
        await self._flush()

    async def end(self) -> None:
        """Ends our direction: close_notify, and nothing else."""
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        await self._flush()

    async def read(self, count: int = -1) -> bytes:
        """That many bytes, or everything up to close_notify. Raises ConnectionError when it is cut before."""
        found = b""
        while count < 0 or len(found) < count:
            try:
                part = self.tls.read(65536 if count < 0 else count - len(found))
            except ssl.SSLWantReadError:
                await self._take()
                continue
            except ssl.SSLZeroReturnError:
                break
            if not part:
                break
            found += part
        return found

    async def _take(self) -> None:
        await self._flush()
        data = await asyncio.get_running_loop().sock_recv(self.sock, 65536)
        if not data:
            raise ConnectionResetError("cut without close_notify")
        self._incoming.write(data)

    async def _flush(self) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, self._outgoing.read())


async def connect(port: int, name: str | None = None, made: IssuedClient | None = None) -> TlsClient:
    """A client of a port of this machine after its handshake."""
    sock = await plain(port)
    client = TlsClient(sock, client_context(made), name)
    try:
        await client.shake_hands()
    except BaseException:
        sock.close()
        raise
    return client


async def plain(port: int) -> socket.socket:
    """A connected, non-blocking socket."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock
