"""Where a soak takes place: the product, a job with an entry of every kind, and connections to them."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tests.system.product import Person, Product, eventually

APP = Path(__file__).with_name("app.py").read_text()
ENTRIES = [
    {"name": "web", "protocol": "http", "level": "private", "target_port": "auto", "port": "fixed"},
    {"name": "safe", "protocol": "https", "level": "private", "target_port": "auto", "port": "fixed"},
    {"name": "fickle", "protocol": "http", "level": "open", "target_port": "auto", "port": "fixed"},
    {"name": "raw-open", "protocol": "tcp", "level": "open", "target_port": "auto", "port": "random"},
    {"name": "raw-safe", "protocol": "tcp", "level": "private", "target_port": "auto", "port": "fixed"},
    {"name": "desk", "protocol": "http", "level": "private", "service": "terminal", "port": "fixed"},
]
_RESET = struct.pack("ii", 1, 0)


class End(Enum):
    """Who ends a connection, and how."""

    PERSON_ENDS = "the person, in order"
    PERSON_CUTS = "the person, by a reset"
    APP_ENDS = "the app, in order"
    APP_CUTS = "the app, by a reset"


@dataclass(frozen=True, slots=True)
class Place:
    """What connections need to know. `entries` by name; `tls` is for https, `client_tls` shows a client certificate."""

    product: Product
    owner: Person
    guest: Person
    job: dict[str, Any]
    entries: dict[str, dict[str, Any]]
    tls: ssl.SSLContext
    client_tls: ssl.SSLContext
    key: Path

    def port(self, name: str) -> int:
        """Where the entry is reached."""
        return int(self.entries[name]["port"])

    def head(self, name: str, start: str, *more: str, token: str | None = None) -> bytes:
        """A request's head to the entry, on the owner's token unless another is given."""
        host = f"{self.entries[name]['host']}:{self.port(name)}"
        lines = [f"{start} HTTP/1.1", f"Host: {host}", f"X-Starlight-Token: {token or self.owner.token}", *more]
        return "\r\n".join([*lines, "", ""]).encode()

    def tidy(self) -> None:
        """Closes the jobs that an upset was in the middle of when it was stopped."""
        for job in self.owner.call("GET", "/jobs?view=running")["items"]:
            if job["id"] != self.job["id"]:
                self.owner.call("POST", f"/jobs/{job['id']}/close")
                self.owner.wait(job["id"], "cancelled", "finished")


@dataclass(frozen=True, slots=True)
class Line:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def say(self, data: bytes) -> None:
        """Sends."""
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self, count: int) -> bytes:
        """The next bytes."""
        return await self.reader.readexactly(count)

    async def head(self) -> bytes:
        """The next answer's head."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer that announces its length."""
        head = await self.head()
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return int(head.split()[1]), await self.hear(int(length[15:]))

    async def over(self) -> bool:
        """Whether the other side has nothing more to say, in whichever way it says so."""
        try:
            return await self.reader.read(1) == b""
        except (ConnectionError, ssl.SSLError):
            return True

    def cut(self) -> None:
        """A reset."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.writer.transport.abort()


@asynccontextmanager
async def line(port: int, tls: ssl.SSLContext | None = None, name: str | None = None) -> AsyncIterator[Line]:
    """A connection, which is gone after the block."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()


def settle(product: Product, folder: Path) -> Place:
    """Two people, a key, a client certificate, and the job with everything on it."""
    owner, guest = product.person("alice"), product.person("bob")
    job = owner.run(["python3", "-u", "-c", APP], name="soak", entries=ENTRIES)
    eventually(lambda: b"serving" in owner.logs(job["id"]), what="the app serving")
    entries = {entry["name"]: entry for entry in owner.call("GET", f"/jobs/{job['id']}")["entries"]}
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    owner.call("POST", "/me/keys", {"name": "soak", "public_key": (folder / "key.pub").read_text().strip()})
    pem = folder / "client.pem"
    pem.write_text(owner.call("POST", f"/entries/{entries['raw-safe']['id']}/client-certificate")["pem"])
    tls = ssl.create_default_context(cafile=pem)
    client_tls = ssl.create_default_context(cafile=pem)
    client_tls.load_cert_chain(pem)
    return Place(product, owner, guest, job, entries, tls, client_tls, key)
