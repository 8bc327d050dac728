"""The one reader of settings: environment and starlight.toml in, one frozen Settings out.

Every setting has one name: `STARLIGHT_HTTP_PORT` in the environment is `http_port` in starlight.toml;
the environment wins. All faults are reported together, each naming the setting and what would be
right. A setting whose part is not built yet is refused with a sentence, never ignored.

The supervisor reads both sources and hands every worker the resolved settings in its environment
(`to_environment`), beside what only a worker needs to know (`WorkerSettings`).
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from control import setting_values as values
from control.setting_values import PortRange

T = TypeVar("T")

PREFIX: Final = "STARLIGHT_"
PORT_NAMES: Final = ("console_port", "http_port", "https_port", "ssh_port", "tcp_port")
_DEFAULT_PORTS: Final = (8080, 8888, 8443, 8022, 8999)
_NOT_BUILT: Final = {
    "redis_url": "the feed over Redis is not built yet; gateways are fed over a Unix socket. Take it away to start",
}
_WORKER_NAMES: Final = frozenset(
    {"run_dir", "name", "lifeline_fd", "control_uid", "gateway_uid", "job_uid_base", "feed_key", "assets_dir"}
)
_DEFAULT_MOST_PROCESSES: Final = 8
"""More web processes than this have to be asked for: each holds a table of its own in memory."""


class SettingsError(ValueError):
    """Settings that cannot be used; `faults` holds one sentence for each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the platform was told. Field names are the settings' names (see the README's table).

    `data_dir` is absolute. `console_url` is an origin without a trailing slash. `uid_base` None means
    "probe for one". `admin_password` counts at the first start only.
    """

    data_dir: Path
    host: str
    console_port: int
    http_port: int
    https_port: int
    ssh_port: int
    tcp_port: int
    random_ports: PortRange
    base_domain: str
    console_url: str
    console_name: str
    public_address: str
    admin_password: str | None = field(repr=False)
    database_url: str = field(repr=False)
    allow_unisolated: bool
    gateway_processes: int
    max_stale_s: float
    max_visits: int
    max_visits_per_entry: int
    max_visits_per_address: int
    max_jobs_per_user: int
    ssh_idle_s: float | None
    insecure_http: bool
    uid_base: int | None
    acme_directory: str
    acme_contact: str
    acme_terms_agreed: bool
    acme_ca_bundle: Path | None
    acme_http_port: int | None
    acme_tls_port: int | None
    name_servers: tuple[values.NameServer, ...]

    @property
    def acme_ports(self) -> dict[str, int]:
        """Ports that are bound for certificate authorities alone; where entries have the same, they answer there."""
        wanted = {"acme_http": (self.acme_http_port, self.http_port), "acme_tls": (self.acme_tls_port, self.https_port)}
        return {name: port for name, (port, entries) in wanted.items() if port is not None and port != entries}

    @property
    def acme_trusted(self) -> Path | None:
        """The supervisor's copy of `acme_ca_bundle`: control's own uid need not be able to read where that lies."""
        return self.data_dir / "control" / "acme-ca.pem" if self.acme_ca_bundle else None

    @property
    def run_dir(self) -> Path:
        """Where sockets and process ids lie."""
        return self.data_dir / "run"

    @property
    def console_host(self) -> str:
        """Where the console's plain http port listens: nowhere but loopback unless STARLIGHT_INSECURE_HTTP says so."""
        return self.host if self.insecure_http or is_loopback(self.host) else "127.0.0.1"

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names that the local CA signs, and no others."""
        return (self.base_domain, f"*.{self.base_domain}", self.console_name)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What the supervisor tells one worker beside the settings.

    `job_uid_base` None: not started as root, jobs share the starter's uid. `lifeline_fd` is the read
    end of a pipe that ends when the supervisor is gone; None when started by hand.
    """

    settings: Settings
    run_dir: Path
    name: str
    lifeline_fd: int | None
    control_uid: int
    gateway_uid: int
    job_uid_base: int | None
    feed_key: bytes = field(repr=False)


def read_settings(environ: Mapping[str, str], file: Path | None = None) -> Settings:
    """The settings from `environ`, and from the TOML `file` when it is given and exists.

    Raises SettingsError with every fault found, not just the first.
    """
    source = _Source(environ, _read_file(file))
    source.refuse_unknown()
    data_dir = source.take("data_dir", values.path, Path("var").resolve())
    host = source.take("host", values.address, "127.0.0.1")
    ports = {
        name: source.take(name, values.port, number) for name, number in zip(PORT_NAMES, _DEFAULT_PORTS, strict=True)
    }
    insecure = source.take("insecure_http", values.switch, False)
    public = source.take("public_address", values.line, "")
    console_url = source.take("console_url", values.origin, _default_console_url(host, public, ports["console_port"]))
    settings = Settings(
        data_dir=data_dir,
        host=host,
        **ports,
        random_ports=source.take("random_ports", values.port_range, PortRange(32768, 65535)),
        base_domain=source.take("base_domain", values.domain, "proxy.localhost"),
        console_url=console_url,
        console_name=source.take("console_name", values.domain, _default_console_name(console_url)),
        public_address=public,
        admin_password=source.take("admin_password", values.password, None),
        database_url=source.take(
            "database_url", values.database, f"sqlite+aiosqlite:///{data_dir / 'control' / 'starlight.db'}"
        ),
        allow_unisolated=source.take("allow_unisolated", values.switch, False),
        gateway_processes=source.take("gateway_processes", values.processes, _default_processes()),
        max_stale_s=source.take("max_stale_s", values.seconds, 300.0),
        max_visits=source.take("max_visits", values.visits, 8192),
        max_visits_per_entry=source.take("max_visits_per_entry", values.visits, 4096),
        max_visits_per_address=source.take("max_visits_per_address", values.visits, 2048),
        max_jobs_per_user=source.take("max_jobs_per_user", values.jobs, 100),
        ssh_idle_s=source.take("ssh_idle_s", values.seconds, None),
        insecure_http=insecure,
        uid_base=source.take("uid_base", values.uid, None),
        acme_directory=source.take("acme_directory", values.secure_url, ""),
        acme_contact=source.take("acme_contact", values.mail_address, ""),
        acme_terms_agreed=source.take("acme_terms_agreed", values.switch, False),
        acme_ca_bundle=source.take("acme_ca_bundle", values.path, None),
        acme_http_port=source.take("acme_http_port", values.port, None),
        acme_tls_port=source.take("acme_tls_port", values.port, None),
        name_servers=source.take("name_servers", values.name_servers, ()),
    )
    faults = source.faults + _clashes(settings)
    if faults:
        raise SettingsError(faults)
    return settings


def to_environment(settings: Settings) -> dict[str, str]:
    """The settings as a worker's environment: `read_settings` of it gives the same settings back."""
    plain: dict[str, str] = {}
    for item in fields(settings):
        value = getattr(settings, item.name)
        if value is not None:
            plain[PREFIX + item.name.upper()] = _as_text(value)
    return plain


def read_worker_settings(environ: Mapping[str, str]) -> WorkerSettings:
    """A worker's settings from the environment that the supervisor gave it.

    Raises SettingsError when something is missing or wrong: workers are not started by hand.
    """
    settings = read_settings(environ)
    source = _Source(environ, {})
    run_dir = source.take("run_dir", values.path, settings.run_dir)
    name = source.take("name", values.line, "")
    lifeline = source.take("lifeline_fd", values.uid, None)
    control_uid = source.take("control_uid", values.uid, os.getuid())
    gateway_uid = source.take("gateway_uid", values.uid, os.getuid())
    job_uid_base = source.take("job_uid_base", values.uid, None)
    feed_key = source.take("feed_key", bytes.fromhex, b"")
    if len(feed_key) != 32:
        source.faults.append("STARLIGHT_FEED_KEY holds 64 hex digits; `starlight up` makes it")
    if source.faults:
        raise SettingsError(source.faults)
    return WorkerSettings(settings, run_dir, name, lifeline, control_uid, gateway_uid, job_uid_base, feed_key)


def is_loopback(host: str) -> bool:
    """Whether `host`, an address or a name, can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Source:
    """Values by setting name, environment first; collects the faults met on the way."""

    def __init__(self, environ: Mapping[str, str], plain: Mapping[str, Any]) -> None:
        self._environ = environ
        self._plain = plain
        self.faults: list[str] = []

    def take(self, name: str, parse: Callable[[str], T], default: T) -> T:
        label, text = self._find(name)
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as fault:
            self.faults.append(f"{label}: {fault}")
            return default

    def refuse_unknown(self) -> None:
        for name, sentence in _NOT_BUILT.items():
            label, text = self._find(name)
            if text:
                self.faults.append(f"{label}: {sentence}")
        known = {item.name for item in fields(Settings)} | _NOT_BUILT.keys()
        for name in self._plain.keys() - known:
            self.faults.append(f"starlight.toml: {_unknown(name, known)}")
        for label in self._environ:
            name = label.removeprefix(PREFIX).lower()
            if label.startswith(PREFIX) and name not in known | _WORKER_NAMES and _near(name, known):
                # Others may own a variable with our prefix (STARLIGHT_PORT_<NAME> in a job); a misspelling is near.
                self.faults.append(f"{label}: {_unknown(name, known)}")

    def _find(self, name: str) -> tuple[str, str]:
        label = PREFIX + name.upper()
        if self._environ.get(label):
            return label, self._environ[label]
        value = self._plain.get(name)
        return f"starlight.toml: {name}", "" if value is None else _as_text(value)


def _read_file(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as fault:
        raise SettingsError([f"{file}: {fault}"]) from fault


def _unknown(name: str, known: set[str]) -> str:
    if name == "clusters":
        return "[clusters] is not built yet; jobs run on this machine (`local`). Take it away to start"
    near = _near(name, known)
    return f"{name} is not a setting" + (f"; did you mean {near[0]}?" if near else "")


def _near(name: str, known: set[str]) -> list[str]:
    return difflib.get_close_matches(name, known, n=1, cutoff=0.85)


def _clashes(settings: Settings) -> list[str]:
    faults = []
    seen: dict[int, str] = {}
    ports = {name: getattr(settings, name) for name in PORT_NAMES}
    for name, port in (ports | {f"{name}_port": port for name, port in settings.acme_ports.items()}).items():
        if port in seen:
            faults.append(f"{_label(seen[port])} and {_label(name)} are both {port}; each needs a port of its own")
        seen.setdefault(port, name)
    if settings.acme_directory and not settings.acme_terms_agreed:
        faults.append(
            f"{_label('acme_directory')}: the certificate authority asks you to agree to its terms of service; "
            f"{_label('acme_terms_agreed')}=1 says that you do"
        )
    url = urlsplit(settings.console_url)
    if url.scheme == "http" and not settings.insecure_http and not _stays_here(settings.host, url.hostname or ""):
        faults.append(
            f"the console would be {settings.console_url}, plain http beyond this machine: passwords could be read on "
            f"the way. Set STARLIGHT_CONSOLE_URL=https://NAME:{settings.https_port}, or STARLIGHT_INSECURE_HTTP=1 "
            "when the network is trusted"
        )
    return faults


def _stays_here(listen_host: str, url_host: str) -> bool:
    return is_loopback(listen_host) and is_loopback(url_host)


def _label(name: str) -> str:
    return PREFIX + name.upper()


def _default_processes() -> int:
    return min(len(os.sched_getaffinity(0)), _DEFAULT_MOST_PROCESSES)


def _default_console_url(host: str, public_address: str, port: int) -> str:
    seen = host
    if ipaddress.ip_address(host).is_unspecified:
        seen = public_address or "127.0.0.1"
    return f"http://[{seen}]:{port}" if ":" in seen else f"http://{seen}:{port}"


def _default_console_name(console_url: str) -> str:
    url = urlsplit(console_url)
    return url.hostname if url.scheme == "https" and url.hostname else "console.localhost"


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return str(value)
