"""Access entries: what a person may ask for, checked, and where the platform puts it.

`EntrySpec` is the checked wish; `parse_spec` makes it from plain JSON data. Clashes inside one job
(names and target ports are unique there) are found by `clash`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from control.domain.domains import FIELDS as DOMAIN_FIELDS
from control.domain.domains import DomainWish, read_wish
from control.domain.errors import Code, FieldCode, FieldFault, Problem, fault, invalid
from control.domain.limits import read_limits
from control.domain.origins import read_origins
from control.domain.pins import PIN_FORM, read_pin
from gateway.contract.routes import AppProtocol, EntryLimits, Level, PortKind, Protocol, Service

ENTRY_NAME_CHARACTERS: Final = 63
ENTRIES_PER_JOB: Final = 32
WEB: Final = (Protocol.HTTP, Protocol.HTTPS)
SSH_DEFAULT: Final = "ssh-default"
SSH_PORT_IN_JOB: Final = 22
AUTO_PORTS: Final = range(20000, 30000)
"""`auto` target ports are taken from here, unique among an owner's live jobs."""
_NAME: Final = re.compile(r"[^\W_](?:[\w. -]*[\w.-])?")
_KNOWN: Final = frozenset(
    {
        "name",
        "protocol",
        "level",
        "target_port",
        "port",
        "service",
        "app_protocol",
        "app_pin",
        "cors_origins",
        "limits",
        *DOMAIN_FIELDS,
    }
)
_LATER: Final = frozenset(
    {
        "node",
        "container",
    }
)
"""Fields of the contract that are not built yet: named as such instead of called unknown."""
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """A checked wish for an entry. `target_port` None with service `port` means: pick one (`auto`)."""

    name: str
    protocol: Protocol
    level: Level
    target_port: int | None
    port_kind: PortKind = PortKind.FIXED
    service: Service = Service.PORT
    app_protocol: AppProtocol = AppProtocol.HTTP1
    cors_origins: tuple[str, ...] = ()
    domain: DomainWish | None = None
    limits: EntryLimits | None = None
    app_pin: str | None = None


@dataclass(frozen=True, slots=True)
class Doors:
    """Where entries are reached: the base domain, the fixed port of each protocol, the random ones."""

    base_domain: str
    fixed: Mapping[Protocol, int]
    random_ports: range

    def host_of(self, label: str) -> str:
        """The host name of the entry with this label."""
        return f"{label}.{self.base_domain}"


@dataclass(frozen=True, slots=True)
class Taken:
    """What one existing entry of the job holds."""

    name: str
    target_port: int | None


def ssh_default() -> EntrySpec:
    """The entry that every job has unless its owner said otherwise."""
    return EntrySpec(SSH_DEFAULT, Protocol.SSH, Level.PRIVATE, SSH_PORT_IN_JOB)


def wants_ssh_default(specs: Iterable[EntrySpec]) -> bool:
    """Whether `ssh-default` is to be added: no entry is fixed ssh, has that name, or has target port 22."""
    return not any(
        (spec.protocol is Protocol.SSH and spec.port_kind is PortKind.FIXED)
        or spec.name == SSH_DEFAULT
        or spec.target_port == SSH_PORT_IN_JOB
        for spec in specs
    )


def parse_spec(plain: Any, path: str = "") -> EntrySpec:
    """The checked spec from plain JSON data. Raises ProblemError `invalid_input` that names all faults.

    `path` is put before the field names: `entries[0].`.
    """
    if not isinstance(plain, dict):
        raise invalid(fault(path.rstrip("."), FieldCode.TYPE, wanted="object"))
    reader = _Reader(plain, path)
    spec = reader.spec()
    reader.check(spec)
    if reader.faults or spec is None:
        raise invalid(*reader.faults)
    return spec


def clash(spec: EntrySpec, taken: Iterable[Taken]) -> Problem | None:
    """The Problem when `spec` repeats a name or target port of its job, naming the other entry."""
    for other in taken:
        if other.name == spec.name:
            return Problem(Code.ENTRY_NAME_TAKEN, {"name": spec.name})
        if spec.target_port is not None and other.target_port == spec.target_port:
            return Problem(Code.TARGET_PORT_TAKEN, {"port": spec.target_port, "name": other.name})
    return None


def port_variable(name: str) -> str:
    """The environment variable that tells a job the target port of its entry: `STARLIGHT_PORT_<NAME>`."""
    return "STARLIGHT_PORT_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def speaks_tls(protocol: Protocol, level: Level, port_kind: PortKind) -> bool:
    """Whether a tcp entry is reached through TLS; only an open one on a port of its own is plain."""
    return protocol is Protocol.TCP and not (level is Level.OPEN and port_kind is PortKind.RANDOM)


def url_of(protocol: Protocol, host: str, port: int, *, tls: bool = False) -> str | None:
    """Where an entry is reached, without the port where the scheme implies it; None for ssh. `tls` is for tcp."""
    match protocol:
        case Protocol.HTTP | Protocol.HTTPS:
            implied = 80 if protocol is Protocol.HTTP else 443
            return f"{protocol.value}://{host}{'' if port == implied else f':{port}'}/"
        case Protocol.TCP:
            return f"{'tls' if tls else 'tcp'}://{host}:{port}"
    return None


class _Reader:
    """Reads the fields of one spec and gathers every fault, so that a person mends all at once."""

    def __init__(self, plain: dict[str, Any], path: str) -> None:
        self._plain = plain
        self._path = path
        self.faults: list[FieldFault] = []

    def spec(self) -> EntrySpec | None:
        for name in self._plain:
            if name in _LATER and self._plain[name] not in (None, "", [], {}, False):
                self._fault(name, FieldCode.NOT_BUILT)
            elif name not in _KNOWN | _LATER:
                self._fault(str(name)[:ENTRY_NAME_CHARACTERS], FieldCode.UNKNOWN)
        name = self._name()
        protocol = self._choice("protocol", Protocol, None)
        level = self._choice("level", Level, None)
        port_kind = self._choice("port", PortKind, PortKind.FIXED)
        service = self._choice("service", Service, Service.PORT)
        app_protocol = self._choice("app_protocol", AppProtocol, AppProtocol.HTTP1)
        target_port = self._target_port(service)
        if protocol is None or level is None or port_kind is None or service is None or app_protocol is None:
            return None
        wish, wrong = read_wish(self._plain, self._path)
        limits, beyond = read_limits(self._plain.get("limits"), self._path, is_web=protocol in WEB)
        self.faults += [*wrong, *beyond]
        origins = self._origins()
        pin = self._pin(app_protocol)
        return EntrySpec(
            name, protocol, level, target_port, port_kind, service, app_protocol, origins, wish, limits, pin
        )

    def check(self, spec: EntrySpec | None) -> None:
        """What fields say together."""
        if spec is None:
            return
        is_web = spec.protocol in WEB
        if spec.service is Service.TERMINAL and not is_web:
            self._fault("service", FieldCode.NOT_ALLOWED)
        if spec.service is Service.TERMINAL and spec.level is Level.OPEN:
            self._fault("level", FieldCode.TERMINAL_OPEN)
        if spec.app_protocol is not AppProtocol.HTTP1 and not is_web:
            self._fault("app_protocol", FieldCode.NOT_ALLOWED)
        if spec.domain is not None and spec.protocol is not Protocol.HTTPS:
            self._fault("domain", FieldCode.HTTPS_ONLY)
        if spec.cors_origins and not is_web:
            self._fault("cors_origins", FieldCode.NOT_ALLOWED)

    def _name(self) -> str:
        name = self._plain.get("name")
        if not isinstance(name, str):
            self._fault("name", FieldCode.REQUIRED if name is None else FieldCode.TYPE, wanted="text")
            return ""
        if len(name) > ENTRY_NAME_CHARACTERS:
            self._fault("name", FieldCode.TOO_LONG, maximum=ENTRY_NAME_CHARACTERS)
        elif not _NAME.fullmatch(name):
            self._fault("name", FieldCode.ENTRY_NAME)
        return name

    def _choice(self, name: str, choices: type[_Choice], default: _Choice | None) -> _Choice | None:
        value = self._plain.get(name)
        if value is None:
            if default is None:
                self._fault(name, FieldCode.REQUIRED)
            return default
        if isinstance(value, str) and value in {choice.value for choice in choices}:
            return choices(value)
        self._fault(name, FieldCode.NOT_ONE_OF, allowed=", ".join(choices))
        return None

    def _origins(self) -> tuple[str, ...]:
        origins, why = read_origins(self._plain.get("cors_origins"))
        if why is not None:
            self._fault("cors_origins", FieldCode.INVALID, why=why)
        return origins

    def _pin(self, app_protocol: AppProtocol) -> str | None:
        """The certificate that an https app must show; nothing else shows one."""
        value = self._plain.get("app_pin")
        if value is None:
            return None
        if app_protocol is not AppProtocol.HTTPS:
            self._fault("app_pin", FieldCode.NOT_ALLOWED)
        elif (pin := read_pin(value)) is not None:
            return pin
        else:
            self._fault("app_pin", FieldCode.INVALID, why=PIN_FORM)
        return None

    def _target_port(self, service: Service | None) -> int | None:
        value = self._plain.get("target_port")
        if service is Service.TERMINAL:
            if value is not None:
                self._fault("target_port", FieldCode.NOT_ALLOWED)
            return None
        if value is None:
            self._fault("target_port", FieldCode.REQUIRED)
        elif value == "auto":
            return None
        elif not isinstance(value, int) or isinstance(value, bool):
            self._fault("target_port", FieldCode.TYPE, wanted='1-65535, "auto"')
        elif not 1 <= value <= 65535:
            self._fault("target_port", FieldCode.OUT_OF_RANGE, minimum=1, maximum=65535)
        else:
            return value
        return None

    def _fault(self, name: str, code: FieldCode, **params: Any) -> None:
        self.faults.append(fault(self._path + name, code, **params))
