"""One frozen GatewayConfig, read once from argv and from the environment that the supervisor sets.

The supervisor has checked and resolved every setting already (control/config.py is where people's
settings are parsed); what is missing or wrong here is a fault of the start, all of it told at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from gateway.core.room import Limits

T = TypeVar("T")

_PREFIX: Final = "STARLIGHT_"


class Role(StrEnum):
    """What a gateway process serves: web pages and plain tcp on uvloop, or ssh on the stock loop."""

    WEB = "web"
    SSH = "ssh"


class ConfigError(ValueError):
    """Settings that a gateway cannot start with, one sentence a line."""


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """Everything that a gateway process is told. Ports are those that people see; `_s` are seconds.

    `feed_key` None: no copy of the snapshot is kept on disk. `lifeline_fd` ends when the supervisor does.
    """

    role: Role
    name: str
    run_dir: Path
    state_dir: Path
    assets_dir: Path
    host: str = "127.0.0.1"
    console_port: int = 8080
    http_port: int = 8888
    https_port: int = 8443
    ssh_port: int = 8022
    tcp_port: int = 8999
    acme_http_port: int | None = None
    acme_tls_port: int | None = None
    base_domain: str = "proxy.localhost"
    console_url: str = "http://127.0.0.1:8080"
    console_name: str = "console.localhost"
    insecure_http: bool = False
    max_stale_s: float = 300.0
    ssh_idle_s: float | None = None
    feed_key: bytes | None = field(default=None, repr=False)
    lifeline_fd: int | None = None
    dial_s: float = 10.0
    ask_s: float = 10.0
    drain_s: float = 7.0
    orphan_drain_s: float = 5.0
    visits_limit: int = 8192
    entry_visits_limit: int = 4096
    address_visits_limit: int = 2048

    @property
    def acme_listeners(self) -> tuple[str, ...]:
        """The supervisor's listeners on which certificate authorities look at domains, and nothing else is served.

        A port that is an entry's too has none of its own: the entry's listener answers there.
        """
        ports = {"acme_http": (self.acme_http_port, self.http_port), "acme_tls": (self.acme_tls_port, self.https_port)}
        return tuple(name for name, (port, entries) in ports.items() if port not in (None, entries))

    @property
    def limits(self) -> Limits:
        """The most visits of this process."""
        return Limits(self.visits_limit, self.entry_visits_limit, self.address_visits_limit)


def read_config(argv: Sequence[str], environ: Mapping[str, str]) -> GatewayConfig:
    """The configuration of `python -m gateway ARGV`. Raises ConfigError that names every fault."""
    parser = argparse.ArgumentParser(prog="python -m gateway", description="One gateway process; see gateway/README.md")
    parser.add_argument("--role", type=Role, choices=list(Role), required=True)
    parser.add_argument("--name", required=True, help="the process's name on the feed, such as web-0")
    told = parser.parse_args(argv)
    source = _Source(environ)
    data_dir = source.take("DATA_DIR", Path)
    config = GatewayConfig(
        role=told.role,
        name=told.name,
        run_dir=source.take("RUN_DIR", Path, data_dir / "run"),
        state_dir=data_dir / "gateway",
        assets_dir=source.take("ASSETS_DIR", Path, Path("control/console/dist").absolute()),
        host=source.take("HOST", str, "127.0.0.1"),
        console_port=source.take("CONSOLE_PORT", int, 8080),
        http_port=source.take("HTTP_PORT", int, 8888),
        https_port=source.take("HTTPS_PORT", int, 8443),
        ssh_port=source.take("SSH_PORT", int, 8022),
        tcp_port=source.take("TCP_PORT", int, 8999),
        acme_http_port=source.take("ACME_HTTP_PORT", int, None),
        acme_tls_port=source.take("ACME_TLS_PORT", int, None),
        base_domain=source.take("BASE_DOMAIN", str, "proxy.localhost"),
        console_url=source.take("CONSOLE_URL", str, "http://127.0.0.1:8080"),
        console_name=source.take("CONSOLE_NAME", str, "console.localhost"),
        insecure_http=source.take("INSECURE_HTTP", _switch, False),
        max_stale_s=source.take("MAX_STALE_S", float, 300.0),
        ssh_idle_s=source.take("SSH_IDLE_S", float, None),
        feed_key=source.take("FEED_KEY", _key, None),
        lifeline_fd=source.take("LIFELINE_FD", int, None),
        visits_limit=source.take("MAX_VISITS", int, 8192),
        entry_visits_limit=source.take("MAX_VISITS_PER_ENTRY", int, 4096),
        address_visits_limit=source.take("MAX_VISITS_PER_ADDRESS", int, 2048),
    )
    if source.faults:
        raise ConfigError("\n".join(source.faults))
    return config


class _Source:
    """Settings by name from the environment; collects the faults met on the way."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.faults: list[str] = []

    def take(self, name: str, parse: Callable[[str], T], *default: T) -> T:
        text = self._environ.get(_PREFIX + name, "")
        if not text and default:
            return default[0]
        try:
            if not text:
                raise ValueError("it is missing")
            return parse(text)
        except ValueError as fault:
            self.faults.append(f"{_PREFIX}{name}: {fault}")
            return default[0] if default else parse("0")  # a stand-in: the faults are raised before it is used


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"{text!r} is neither 0 nor 1")
    return text == "1"


def _key(text: str) -> bytes:
    key = bytes.fromhex(text)
    if len(key) != 32:
        raise ValueError("it holds 64 hex digits")
    return key
