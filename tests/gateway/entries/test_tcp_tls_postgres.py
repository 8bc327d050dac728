"""PostgreSQL at a tcp entry over TLS: its opening is answered, its own tongue refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.gateway.entries.test_tcp_tls import GSSENC_REQUEST, SSL_REQUEST, STARTUP, after, door, whole
from tests.gateway.loops import Runner, both_loops
from tests.gateway.tls_client import plain


@both_loops
@pytest.mark.parametrize("asks", [[SSL_REQUEST], [GSSENC_REQUEST, SSL_REQUEST]], ids=["ssl", "gssenc"])
def test_postgres_is_answered_before_tls(run: Runner, tmp_path: Path, asks: list[bytes]) -> None:
    """`S` to SSLRequest, `N` to GSSENCRequest, then TLS as usual."""

    async def body() -> None:
        async with door(tmp_path) as held:
            client = await after(held, *asks)
            with client.sock:
                await client.shake_hands()
                await client.send(b"ping")
                assert await client.read(4) == b"ping"

    run(body())


async def test_postgres_is_refused_in_its_own_tongue(tmp_path: Path) -> None:
    """After the handshake psql prints the sentence instead of a broken connection."""
    async with door(tmp_path) as held:
        held.change("client", 8, None)
        client = await after(held, SSL_REQUEST)
        with client.sock:
            await client.shake_hands()
            await client.send(STARTUP)
            message = await client.read()
        assert message.startswith(b"E")
        assert b"client certificate" in message
        assert "客户端证书".encode() in message


async def test_postgres_without_tls_is_told_to_use_it(tmp_path: Path) -> None:
    """`sslmode=disable` gets a sentence, not a hang-up."""
    async with door(tmp_path) as held:
        with await plain(held.port) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, STARTUP)
            assert b"unencrypted" in await whole(sock)


@pytest.mark.parametrize(
    "first",
    [
        bytes.fromhex("0000001004d2162e0000000100000002"),
        GSSENC_REQUEST * 4,
        SSL_REQUEST * 2,
        SSL_REQUEST + STARTUP,
        b"\0\0\0\x08\0\0\0\0",
    ],
    ids=["cancel", "gssenc again and again", "ssl twice", "no hello after S", "zeros"],
)
async def test_postgres_that_goes_wrong_ends(tmp_path: Path, first: bytes) -> None:
    """Nothing but answers of ours comes back, and nothing reaches the app."""
    async with door(tmp_path) as held:
        with await plain(held.port) as sock:
            await asyncio.get_running_loop().sock_sendall(sock, first)
            assert set(await whole(sock)) <= set(b"SN")
