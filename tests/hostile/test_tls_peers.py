"""Peers that are hostile or merely endless behind TLS: crowds that say nothing, apps that never stop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.local_ca import Authority, issue, make_authority
from gateway.contract.routes import AppProtocol, Certificate, Level
from gateway.entries import tls
from tests.gateway.entries.http.house import open_house, visit
from tests.gateway.entries.http.test_passage import echo_heads, get
from tests.gateway.entries.test_tls import ends, open_tls_house, visit_tls
from tests.gateway.loops import Runner, both_loops

TODAY = datetime.now(UTC)  # noqa: TID251 - certificates of real handshakes
CROWD = 1000
SERVED_S = 1.0
STOPS_S = 3.0


@pytest.fixture(scope="module")
def authority() -> Authority:
    """A CA for the base domain."""
    return make_authority(["*.proxy.localhost", "proxy.localhost", "console.localhost"], now=TODAY)


async def test_a_thousand_silent_handshakes_block_nobody(
    tmp_path: Path, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B61: connections that say nothing, or half a hello, wait beside the others, and end at their deadline."""
    monkeypatch.setattr(tls, "HANDSHAKE_S", 1.5)
    async with open_tls_house(tmp_path, authority) as house, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(visit(house)) for _ in range(CROWD)]
        for peer in silent[::2]:
            await peer.send(b"\x16\x03\x01\x02\x00\x01\x00")
        began = time.monotonic()
        async with visit_tls(house, authority) as peer:
            await peer.send(get(house))
            assert (await peer.response())[0] == 200
        assert time.monotonic() - began < SERVED_S
        assert all(await asyncio.gather(*(ends(peer) for peer in silent)))


@both_loops
def test_an_app_behind_tls_stops_sending_when_its_visitor_leaves(tmp_path: Path, run: Runner) -> None:
    """B60: an app that never reads does not hear TLS's goodbye; only a reset keeps it from speaking to nobody."""
    made = issue(make_authority(["app.example"], now=TODAY), ["app.example"], now=TODAY)
    context = tls.server_context(Certificate("c", ("app.example",), made.chain_pem, made.key_pem))
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        listener.settimeout(STOPS_S)
        speaking = thread.submit(speak_for_ever, listener, context)

        async def leave() -> None:
            async with open_house(tmp_path, echo_heads, level=Level.OPEN) as house:
                target = replace(house.entry.target, app_protocol=AppProtocol.HTTPS)
                house.change(replace(house.entry, target=target))
                house.app_address = listener.getsockname()
                async with visit(house) as peer:
                    await peer.send(get(house))
                    await peer.head()
                    await peer.exactly(1 << 20)
                await asyncio.to_thread(wait, [speaking], timeout=STOPS_S)
                assert speaking.done()

        run(leave())


def speak_for_ever(listener: socket.socket, context: ssl.SSLContext) -> None:
    """An app that answers one request without end and without ever reading again."""
    accepted, _ = listener.accept()
    with context.wrap_socket(accepted, server_side=True) as app, contextlib.suppress(OSError):
        app.settimeout(4 * STOPS_S)
        app.recv(1 << 16)
        app.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            app.sendall(bytes(1 << 16))
