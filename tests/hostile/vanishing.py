"""Pulls a cable: `python -m tests.hostile.vanishing person|app`, inside a network namespace of its own.

A WebSocket stands through a gateway on uvloop; then every packet of one side is dropped, as when a laptop
sleeps or a node dies: no FIN and no RST ever comes. Exits with 0 once the other side was told and nothing is
left of the visit, within WITHIN_S. The kernel's patience is made short: its default is for networks, not tests.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import tempfile
from asyncio import StreamReader as Reader
from asyncio import StreamWriter as Writer
from pathlib import Path

import uvloop

from gateway.contract.routes import Level
from gateway.wire import relay
from tests.gateway.entries.http.house import open_house, visit
from tests.gateway.entries.http.test_passage import SWITCH, UPGRADE, get

WITHIN_S = 10.0
SHORT = ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 2))


async def vanish(run_dir: Path, side: str) -> None:
    """Raises TimeoutError when the other side waits for ever."""
    relay.KEEPALIVE = SHORT  # type: ignore[misc] # patient in production
    app_told = asyncio.Event()

    async def app(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(SWITCH.replace("\n", "\r\n").encode())
        try:
            await reader.read()
        finally:
            app_told.set()

    async with open_house(run_dir, app, level=Level.OPEN) as house, visit(house) as peer:
        await peer.send(get(house, more=UPGRADE))
        await peer.head()
        assert len(house.gate.visits) == 1
        own_port = peer.writer.get_extra_info("sockname")[1]
        drop(own_port if side == "person" else house.app_address[1])
        async with asyncio.timeout(WITHIN_S):
            if side == "person":
                await app_told.wait()
            else:
                with contextlib.suppress(ConnectionResetError):
                    await peer.reader.read()
            while len(house.gate.visits):
                await asyncio.sleep(0.05)


def drop(port: int) -> None:
    """From now on no packet from or to the port arrives."""
    rules = f"""
    table inet cable {{
        chain pulled {{
            type filter hook input priority 0;
            tcp sport {port} drop
            tcp dport {port} drop
        }}
    }}"""
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True, timeout=10)


def main() -> None:
    """Brings the namespace's loopback up first."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, timeout=10)
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(vanish(Path(folder), sys.argv[1]))


if __name__ == "__main__":
    main()
