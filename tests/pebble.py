"""Let's Encrypt's test authority as Debian ships it: `pebble`, with its own name service (`pebble-challtestsrv`).

It is strict on purpose: nonces are refused at random, URLs change, and nothing is remembered over a restart.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certs.local_ca import issue, make_authority
from control.clock import utcnow
from tests.system.product import eventually, free_ports


@dataclass
class Pebble:
    """A running authority. `http_port` and `tls_port` are where it looks instead of 80 and 443."""

    folder: Path
    http_port: int
    tls_port: int
    ports: list[int]
    validity_s: int
    nonces_refused: int
    slow_looks: bool
    process: subprocess.Popen[bytes] | None = None
    names: subprocess.Popen[bytes] | None = None

    @property
    def directory(self) -> str:
        """The URL to give to clients."""
        return f"https://localhost:{self.ports[0]}/dir"

    @property
    def bundle(self) -> Path:
        """What the directory's TLS is to be trusted by."""
        return self.folder / "ca.pem"

    @property
    def name_server(self) -> str:
        """Address and port of the name service."""
        return f"127.0.0.1:{self.ports[2]}"

    def start(self) -> None:
        """Starts the authority; what it knew before is forgotten."""
        authority = make_authority(["localhost"], now=utcnow())
        if not self.bundle.exists():
            made = issue(authority, ["localhost"], now=utcnow())
            self.bundle.write_text(authority.certificate_pem)
            (self.folder / "cert.pem").write_text(made.chain_pem)
            (self.folder / "key.pem").write_text(made.key_pem)
        config = {
            "listenAddress": f"127.0.0.1:{self.ports[0]}",
            "managementListenAddress": f"127.0.0.1:{self.ports[1]}",
            "certificate": str(self.folder / "cert.pem"),
            "privateKey": str(self.folder / "key.pem"),
            "httpPort": self.http_port,
            "tlsPort": self.tls_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": False,
            "certificateValidityPeriod": self.validity_s,
        }
        (self.folder / "config.json").write_text(json.dumps({"pebble": config}))
        environment = {
            "PATH": os.environ["PATH"],
            "PEBBLE_WFE_NONCEREJECT": str(self.nonces_refused),
            "PEBBLE_AUTHZREUSE": "0",
            **({} if self.slow_looks else {"PEBBLE_VA_NOSLEEP": "1"}),
        }
        command = ["pebble", "-config", str(self.folder / "config.json"), "-strict", "-dnsserver", self.name_server]
        with (self.folder / "pebble.log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        eventually(self.answers, what="pebble answers")

    def stop(self) -> None:
        """Ends the authority; the name service stays."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def answers(self) -> bool:
        """Whether the directory is there."""
        try:
            return self.root() != ""
        except OSError:
            return False

    def root(self) -> str:
        """The root certificate of what it issues, which is new with each start."""
        context = ssl.create_default_context(cafile=str(self.bundle))
        connection = http.client.HTTPSConnection("localhost", self.ports[1], context=context, timeout=5)
        try:
            connection.request("GET", "/roots/0")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def set_record(self, name: str, value: str) -> None:
        """Puts a TXT record into the name service, in place of those that it has for the name."""
        self._tell("clear-txt", {"host": f"{name}."})
        self._tell("set-txt", {"host": f"{name}.", "value": value})

    def set_address(self, name: str, *addresses: str) -> None:
        """Has a name lead somewhere else than to this machine."""
        self._tell("add-a", {"host": name, "addresses": list(addresses)})

    def fail_name(self, name: str) -> None:
        """Has the name service fail for a name."""
        self._tell("set-servfail", {"host": name})

    def mend_name(self, name: str) -> None:
        """Takes the failure back."""
        self._tell("clear-servfail", {"host": name})

    def _tell(self, verb: str, body: dict[str, Any]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[3], timeout=5)
        try:
            connection.request("POST", f"/{verb}", body=json.dumps(body))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
        finally:
            connection.close()


@contextmanager
def pebble(
    folder: Path,
    *,
    http_port: int,
    tls_port: int,
    validity_s: int = 90 * 24 * 3600,
    nonces_refused: int = 0,
    slow_looks: bool = False,
) -> Iterator[Pebble]:
    """A running authority with a name service that leads every name to this machine. `nonces_refused` in percent."""
    folder.mkdir(exist_ok=True)
    running = Pebble(folder, http_port, tls_port, free_ports(4), validity_s, nonces_refused, slow_looks)
    options = {"-dns01": running.name_server, "-management": f"127.0.0.1:{running.ports[3]}", "-defaultIPv6": ""}
    off = {"-http01": "", "-https01": "", "-tlsalpn01": ""}
    command = ["pebble-challtestsrv", *(word for pair in (options | off).items() for word in pair)]
    with (folder / "names.log").open("ab") as log:
        running.names = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        running.start()
        yield running
    finally:
        running.stop()
        running.names.kill()
        running.names.wait()
