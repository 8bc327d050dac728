"""A person's TLS: hands are shaken or refused with an alert, a certificate is known by its fingerprint."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl

import pytest

from gateway.contract.routes import Certificate
from gateway.entries.tls import server_context
from gateway.wire.secured import Secured
from tests.gateway.loops import Runner, both_loops
from tests.gateway.tls_client import (
    TlsClient,
    client_authority,
    client_context,
    issued,
    server_certificate,
)

NAME = "a.proxy.localhost"


def asking(certificate: Certificate) -> ssl.SSLContext:
    """Wants a certificate of the client authority."""
    context = server_context(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=client_authority().certificate_pem)
    return context


@both_loops
def test_a_certificate_is_known_by_its_fingerprint(run: Runner) -> None:
    """The hex SHA-256 of what the client showed and proved."""
    made = issued()

    async def body() -> None:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            far.setblocking(False)
            client = TlsClient(near, client_context(made), NAME)
            secured = Secured(far, asking(server_certificate()))
            await asyncio.gather(client.shake_hands(), secured.shake_hands())
            der = ssl.PEM_cert_to_DER_cert(made.certificate_pem)
            assert secured.fingerprint() == hashlib.sha256(der).hexdigest()

    run(body())


@both_loops
def test_a_client_without_a_certificate_is_told_by_an_alert(run: Runner) -> None:
    """TLS 1.3 clients hear it after their own part is done."""

    async def body() -> None:
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            far.setblocking(False)
            client = TlsClient(near, client_context(), NAME)
            secured = Secured(far, asking(server_certificate()))

            async def be_told() -> None:
                await client.shake_hands()
                await client.read()

            theirs, ours = await asyncio.gather(be_told(), secured.shake_hands(), return_exceptions=True)
            assert isinstance(ours, ssl.SSLError)
            assert isinstance(theirs, ssl.SSLError)
            assert "CERTIFICATE_REQUIRED" in str(theirs)

    run(body())


async def test_a_client_that_ends_inside_the_handshake_is_a_connection_error() -> None:
    """Nobody waits for it."""
    near, far = socket.socketpair()
    with far:
        far.setblocking(False)
        near.close()
        with pytest.raises(ConnectionError):
            await Secured(far, server_context(server_certificate())).shake_hands()


async def test_half_a_record_at_the_end_does_not_spoil_it() -> None:
    """Our close_notify is made while half of a record waits inside; the other half is read all the same."""
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        client = TlsClient(near, client_context(), NAME)
        secured = Secured(far, server_context(server_certificate()))
        await asyncio.gather(client.shake_hands(), secured.shake_hands())
        await client.send(b"x" * 10_000)
        records = far.recv(65536)
        assert secured.feed(records[:5000]) == b""
        secured.end()
        assert secured.feed(records[5000:]) == b"x" * 10_000
        await secured.flush()
        assert await client.read() == b""


async def test_a_peer_that_makes_us_answer_is_held_off_by_its_answers() -> None:
    """What waits to be sent can be seen, so that whoever moves the bytes stops listening."""
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        far.setblocking(False)
        client = TlsClient(near, client_context(), NAME)
        secured = Secured(far, server_context(server_certificate()))
        await asyncio.gather(client.shake_hands(), secured.shake_hands())
        assert secured.waiting_bytes() == 0
        secured.seal(b"x" * 1000)
        assert secured.waiting_bytes() > 1000
        assert len(secured.sealed()) > 1000
        assert secured.waiting_bytes() == 0
