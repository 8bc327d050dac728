"""The gateway as a candidate: the whole product with one web process, and ways to the entries of one real job.

Every visit is judged: the entries are private, and the cookie or certificate was got as a person gets it.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.bench.cost import LOAD_CORE, PROXY_CORE, tree
from tests.bench.peers import Peer
from tests.system.product import Answer, Person, Product, eventually

APP = (Path(__file__).parent / "upstream.py").read_text()


@dataclass(frozen=True, slots=True)
class Door:
    """The running product, its admin, and the job behind the entries."""

    product: Product
    owner: Person
    job: dict[str, Any]

    def entry(self, name: str) -> dict[str, Any]:
        """An entry of the job."""
        return self.owner.entry(self.job, name)

    @property
    def pid(self) -> int:
        """The web process."""
        return self.product.pid("web-0")

    def pin(self) -> None:
        """Has the web process run on the proxies' core."""
        for process in tree(self.pid):
            os.sched_setaffinity(process, {PROXY_CORE})

    def plain(self, name: str = "gateway") -> Peer:
        """The http entry `web`, with a valid cookie beside the app's own."""
        return self.through("web", "HTTP", name)

    def secure(self, name: str = "gateway") -> Peer:
        """The https entry `secure`, the same way."""
        return self.through("secure", "HTTPS", name)

    @property
    def secure_port(self) -> int:
        """Where https entries listen."""
        return self.product.ports["HTTPS"]

    def through(self, entry_name: str, protocol: str, name: str = "gateway") -> Peer:
        """An entry of a protocol, by the cookie that a person gets for it."""
        entry, port = self.entry(entry_name), self.product.ports[protocol]
        cookie = f"theme=dark; {ticket(self.owner, entry, port, secure=protocol == 'HTTPS')}"
        return Peer(name, port, self.pid, entry["host"], cookie)


def entry_spec(name: str, protocol: str, port: str = "fixed", **more: Any) -> dict[str, Any]:
    """A private entry for the app's port."""
    return {"name": name, "protocol": protocol, "level": "private", "target_port": "auto", "port": port, **more}


@contextmanager
def open_door(folder: Path, *specs: dict[str, Any], **extra: str) -> Iterator[Door]:
    """The product with one web process on the proxies' core, and a job that runs the app behind these entries."""
    product = Product(folder / "var", extra={"STARLIGHT_GATEWAY_PROCESSES": "1", **extra})
    product.start()
    try:
        owner = product.admin()
        command = ["taskset", "-c", str(LOAD_CORE), "python3", "-u", "-c", APP]
        job = owner.run(command, entries=list(specs) or [entry_spec("web", "http")])
        eventually(lambda: b"serving" in owner.logs(job["id"]), what="the app serving")
        door = Door(product, owner, job)
        door.pin()
        yield door
    finally:
        product.stop()


def ticket(owner: Person, entry: dict[str, Any], port: int, *, secure: bool = False) -> str:
    """The entry's cookie, got by the hop as a browser gets it."""

    def ask(method: str, path: str, fields: dict[str, str], body: bytes | None = None) -> Answer:
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        connection.connect()
        if secure:
            connection.sock = trusting().wrap_socket(connection.sock, server_hostname=entry["host"])
        connection.request(method, path, body=body, headers={"Host": host, **fields})
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    host = f"{entry['host']}:{port}"
    away = ask("GET", "/", {"Sec-Fetch-Mode": "navigate"})
    asked = {name: values[0] for name, values in parse_qs(urlsplit(away.headers["Location"]).query).items()}
    back = owner.call("POST", "/hops", {name: asked[name] for name in ("entry", "state", "challenge")})["url"]
    fragment = {name: values[0] for name, values in parse_qs(urlsplit(back).fragment).items()}
    state = away.headers["Set-Cookie"].partition(";")[0]
    origin = f"{'https' if secure else 'http'}://{host}"
    fields = {"Cookie": state, "Content-Type": "application/json", "Origin": origin}
    body = json.dumps({"state": fragment["state"], "code": fragment["code"]}).encode()
    cookies = ask("POST", "/.starlight/exchange", fields, body).headers.get_all("Set-Cookie") or []
    return next(cookie.partition(";")[0] for cookie in cookies if "starlight_entry=" in cookie.partition(";")[0])


def trusting() -> ssl.SSLContext:
    """A client of TLS 1.3 that takes any certificate: what is measured is the other side."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context
