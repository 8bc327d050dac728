"""What gateways serve: entries of jobs, and the records and changes that carry them.

Control keeps one *record* per (kind, key). A gateway lists all records in slices, then watches
changes from the revision it holds. A change replaces a whole record or takes it away, so that
applying one twice, or listing again, does no harm (routes are a level, not an edge).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

CONTRACT_VERSION = 1
"""Raised when a record changes its meaning; both sides name theirs in the greeting."""


class Protocol(StrEnum):
    """How people speak to an entry."""

    HTTP = "http"
    HTTPS = "https"
    SSH = "ssh"
    TCP = "tcp"


class Level(StrEnum):
    """Who may pass an entry: its owner and share guests, every user, or anyone."""

    PRIVATE = "private"
    LOGIN = "login"
    OPEN = "open"


class PortKind(StrEnum):
    """Whether an entry listens on its protocol's fixed port or on one of its own."""

    FIXED = "fixed"
    RANDOM = "random"


class Service(StrEnum):
    """What answers behind an entry: a port of the job, or the gateway's own web terminal."""

    PORT = "port"
    TERMINAL = "terminal"


class AppProtocol(StrEnum):
    """How the app behind an http or https entry speaks. Told by its owner, never guessed."""

    HTTP1 = "http1"
    H2C = "h2c"
    HTTPS = "https"


class JobPhase(StrEnum):
    """What a gateway needs to know of a job's state: may it be dialled, and if not, why."""

    STARTING = "starting"
    RUNNING = "running"
    SUSPENDED = "suspended"
    UNREACHABLE = "unreachable"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a visit goes: `subject` is JOB, JOB.NODE or JOB.NODE.CONTAINER; `engine` names its bridge.

    `app_pin` is the SHA-256 of the certificate that an https app must show, 64 lower-case hex digits; None: whichever.
    """

    engine: str
    subject: str
    service: Service = Service.PORT
    port: int | None = None
    app_protocol: AppProtocol = AppProtocol.HTTP1
    app_pin: str | None = None


@dataclass(frozen=True, slots=True)
class EntryLimits:
    """The most that an entry's owner allows; None: no limit of theirs.

    `connections` at a time, of all visitors at all gateways of this machine together; `requests_per_minute` of one
    visitor, and `body_bytes` of one request, at http and https entries.
    """

    connections: int | None = None
    requests_per_minute: int | None = None
    body_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An access entry. `label` is 32 hex digits, never used twice; `host` is the name people type.

    `port` is the public port; `owner_id` the user whose job it is. `cors_origins` are other sites whose pages
    may call an http or https entry from a browser. `limits` None: the owner set none.
    """

    id: int
    label: str
    name: str
    protocol: Protocol
    level: Level
    port_kind: PortKind
    port: int
    host: str
    job_id: str
    owner_id: int
    target: Target
    cors_origins: tuple[str, ...] = ()
    limits: EntryLimits | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the ssh menu and the refusal pages show it. `since` is RFC 3339 UTC, or empty before the start."""

    id: str
    name: str
    owner_id: int
    owner_name: str
    cluster: str
    phase: JobPhase
    state: str
    node: str
    since: str
    engine: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key, PEM, chain leaf first. `names` may hold wildcards; `default` serves unknown names."""

    id: str
    names: tuple[str, ...]
    chain_pem: str
    key_pem: str = field(repr=False)
    default: bool = False


@dataclass(frozen=True, slots=True)
class Secret:
    """A key that all gateways share. `use` is `ticket` (seals cookies), `ssh-host` (OpenSSH private key, PEM),
    `ssh-host-cert` (an OpenSSH certificate for one, as a line; no secret, but made and renewed like one) or
    `identity` (P-256 private key, PEM: signs who a visitor is).

    Of several with the same use the highest `generation` signs, all verify.
    """

    id: str
    use: str
    generation: int
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority of our own, PEM, whose client certificates gateways look at; its key stays at control."""

    id: str
    certificate_pem: str
