"""TLS to an app: whichever certificate it shows, or the very one that its owner named."""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from certs.local_ca import issue, make_authority
from control.clock import utcnow
from gateway.contract.routes import AppProtocol, Certificate, Level
from gateway.entries import tls
from tests.gateway.entries.http.house import House, open_house, tidy, visit
from tests.gateway.entries.http.test_passage import echo_heads


@asynccontextmanager
async def tls_app(house: House) -> AsyncIterator[tuple[str, list[bytes]]]:
    """An app that speaks TLS; its certificate's fingerprint, and the heads that it got."""
    made = issue(make_authority(["app.example"], now=utcnow()), ["app.example"], now=utcnow())
    context = tls.server_context(Certificate("c", ("app.example",), made.chain_pem, made.key_pem))
    first, end, _ = made.chain_pem.partition("-----END CERTIFICATE-----")
    leaf = ssl.PEM_cert_to_DER_cert(first + end)
    heads: list[bytes] = []

    async def app(reader: Reader, writer: Writer) -> None:
        heads.append(b"")
        heads[-1] = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()

    async with await asyncio.start_server(tidy(app), "127.0.0.1", 0, ssl=context) as server:
        house.app_address = server.sockets[0].getsockname()
        yield hashlib.sha256(leaf).hexdigest(), heads


def pinned(house: House, pin: str | None) -> None:
    """Has the entry say how its app speaks."""
    house.change(replace(house.entry, target=replace(house.entry.target, app_protocol=AppProtocol.HTTPS, app_pin=pin)))


async def test_the_certificate_that_was_named_is_the_one(tmp_path: Path) -> None:
    """And without a name any will do."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, tls_app(house) as (pin, _):
        for wanted in (pin, None):
            pinned(house, wanted)
            async with visit(house) as peer:
                await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\n\n")
                assert (await peer.response())[2] == b"ok"


async def test_another_certificate_is_refused_before_a_request_is_sent(tmp_path: Path) -> None:
    """With a sentence of its own; the app hears nothing of the person."""
    async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house, tls_app(house) as (pin, heads):
        pinned(house, "0" * 64)
        async with visit(house) as peer:
            await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\nAuthorization: secret\n\n")
            status, head, _ = await peer.response()
            assert status == 502 and b"X-Starlight-Reason: app_unverified\r\n" in head
        assert not any(heads)
        pinned(house, pin)
        async with visit(house) as peer:
            await peer.send(f"GET / HTTP/1.1\nHost: {house.host}\n\n")
            assert (await peer.response())[0] == 200
