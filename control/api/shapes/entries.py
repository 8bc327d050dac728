"""An access entry: the wish for one, and how one looks from outside (contract: EntrySpec, Entry)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from control.actions.doors import ssh_host
from control.actions.entries import EntrySeen
from control.api.route import Body, Shape
from control.api.shapes.acme import ChallengeWord
from control.api.shapes.domains import Certificate, DomainState, print_certificate, print_domain, why_unserved
from control.api.values import Instant, Line, Pem, Secret
from control.config import Settings
from control.domain import entries as domain
from control.domain.errors import FieldFault, Language, ProblemError, Sentence, invalid
from control.domain.jobs.states import ENDED, State
from control.domain.limits import LIMITS
from control.domain.origins import ORIGINS_LIMIT
from gateway.contract.routes import PortKind, Protocol, Service

ProtocolWord = Literal["http", "https", "ssh", "tcp"]
LevelWord = Literal["private", "login", "open"]
PortKindWord = Literal["fixed", "random"]
ServiceWord = Literal["port", "terminal"]
AppProtocolWord = Literal["http1", "h2c", "https"]
TargetPort = int | Literal["auto"]
AskedPort = Annotated[
    Any, WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 65535}, {"const": "auto"}]})
]
"""What `domain.entries` reads and checks: one fault at one field, where a union here would give two."""
Later = SkipJsonSchema[Any]
"""A field of the contract that is not built yet: its action says so, instead of calling it unknown."""


AskedCount = Annotated[Any, WithJsonSchema({"type": "integer", "minimum": 1})]


class Limits(Body):
    """What an entry's owner allows at most; what is left out, or null, has no limit of theirs.

    `connections` at a time, of all visitors together; `requests_per_minute` of one visitor and `body_bytes` of one
    request, at http and https entries.
    """

    connections: AskedCount = None
    requests_per_minute: AskedCount = None
    body_bytes: AskedCount = None


class EntryLimits(Shape):
    """The limits of an entry; null: none of its owner's."""

    connections: int | None
    requests_per_minute: int | None
    body_bytes: int | None


class EntrySpec(Body):
    """A wish for an entry. `target_port` is left out for `service: terminal`; `auto` picks a free one.

    `domain`, for https alone, comes with certificate and key, or with `acme`: an authority is asked for them.
    `cors_origins`: other sites whose pages may call an http or https entry from a browser, as `https://host[:port]`.
    `limits`: what its owner allows at most. `app_pin`: SHA-256 of the certificate that an app with
    `app_protocol: https` must show; without it none is checked.
    """

    name: Line
    protocol: ProtocolWord
    level: LevelWord
    target_port: AskedPort = None
    port: PortKindWord = "fixed"
    service: ServiceWord = "port"
    app_protocol: AppProtocolWord = "http1"
    app_pin: Line | None = None
    node: Later = None
    container: Later = None
    domain: Line | None = None
    certificate: Pem | None = None
    private_key: Pem | None = Field(default=None, repr=False)
    private_key_password: Secret | None = Field(default=None, repr=False)
    acme: bool = False
    acme_challenge: ChallengeWord | None = None
    cors_origins: Annotated[list[Line], Field(max_length=ORIGINS_LIMIT)] = Field(default_factory=list)
    limits: Limits | None = None


class EntryTemplate(Shape):
    """An entry of an app, as it can be sent back in an EntrySpec."""

    name: str
    protocol: ProtocolWord
    level: LevelWord
    target_port: TargetPort | None
    port: PortKindWord
    service: ServiceWord
    app_protocol: AppProtocolWord


class Entry(Shape):
    """An access entry. `message` says why it is not active; `mine` whether the reader owns its job."""

    id: int
    job_id: str
    name: str
    protocol: ProtocolWord
    level: LevelWord
    target_port: int | None
    service: ServiceWord
    app_protocol: AppProtocolWord
    app_pin: str | None
    cors_origins: list[str]
    limits: EntryLimits
    node: str | None
    container: str | None
    domain: str | None
    label: str
    host: str
    port: int
    port_kind: PortKindWord
    url: str | None
    ssh_command: str | None
    active: bool
    shared: bool
    message: str | None
    certificate: Certificate | None
    domain_state: DomainState | None
    owner: str
    mine: bool


class ChangedEntry(Entry):
    """An entry after a change: gateways that have not confirmed it yet, and by when they follow at the latest."""

    pending: list[str]
    stops_by: Instant | None


def read_spec(spec: EntrySpec, path: str) -> domain.EntrySpec:
    """The checked spec. Raises ProblemError INVALID_INPUT; `path` stands before the names of faulty fields."""
    return domain.parse_spec(spec.model_dump(exclude_none=True), path)


def read_specs(specs: list[EntrySpec]) -> tuple[domain.EntrySpec, ...]:
    """Checked specs, all faults told together."""
    checked: list[domain.EntrySpec] = []
    faults: list[FieldFault] = []
    for position, spec in enumerate(specs):
        try:
            checked.append(read_spec(spec, f"entries[{position}]."))
        except ProblemError as refusal:
            faults += refusal.problem.fields
    if faults:
        raise invalid(*faults)
    return tuple(checked)


def print_spec(spec: domain.EntrySpec) -> EntryTemplate:
    """A spec as it can be sent back."""
    is_port = spec.service is Service.PORT
    return EntryTemplate(
        name=spec.name,
        protocol=spec.protocol.value,
        level=spec.level.value,
        target_port=spec.target_port or ("auto" if is_port else None),
        port=spec.port_kind.value,
        service=spec.service.value,
        app_protocol=spec.app_protocol.value,
    )


_WHY: Final[dict[str, Sentence]] = {
    "ended": Sentence("作业已结束", "The job has ended"),
    "port_lost": Sentence("端口 {port} 被占用，正在重试", "Port {port} is taken; it is tried again"),
    "not_running": Sentence("作业尚未运行，运行后自动启用此入口", "The job is not running; served once it runs"),
    "waiting": Sentence("正在等待网关启用此入口", "Waiting for the gateways to serve this entry"),
}


def print_entry(seen: EntrySeen, language: Language, settings: Settings) -> Entry:
    """An entry as its reader sees it."""
    row, job = seen.entry, seen.job
    why = _why_inactive(seen)
    unserved = None if why == "ended" else why_unserved(seen, language, settings)
    return Entry(
        id=row.id,
        job_id=row.job_id,
        name=row.name,
        protocol=row.protocol.value,
        level=row.level.value,
        target_port=row.target_port,
        service=row.service.value,
        app_protocol=row.app_protocol.value,
        app_pin=row.app_pin,
        cors_origins=list(row.cors_origins),
        limits=EntryLimits(**{name: row.limits.get(name) for name in LIMITS}),
        node=None,
        container=None,
        domain=None if seen.domain is None else seen.domain.domain,
        label=row.label,
        host=row.host,
        port=row.port,
        port_kind=row.port_kind.value,
        url=_url(seen, settings),
        ssh_command=_ssh_command(seen, settings),
        active=why is None and unserved is None,
        shared=seen.shared,
        message=unserved or (None if why is None else _WHY[why].say(language, {"port": row.port})),
        certificate=print_certificate(seen),
        domain_state=print_domain(seen, language, settings),
        owner=seen.owner,
        mine=job.owner_id == seen.reader.id,
    )


def _why_inactive(seen: EntrySeen) -> str | None:
    if seen.job.state in ENDED:
        return "ended"
    if seen.entry.port_lost:
        return "port_lost"
    if seen.job.state is not State.RUNNING:
        return "not_running"
    return None if seen.served else "waiting"


def _url(seen: EntrySeen, settings: Settings) -> str | None:
    row = seen.entry
    tls = domain.speaks_tls(row.protocol, row.level, row.port_kind)
    # Raw tcp carries no name to route by, so any name of the machine does; the ssh host is one people can reach.
    plain = row.protocol is Protocol.TCP and not tls
    return domain.url_of(row.protocol, ssh_host(settings) if plain else row.host, row.port, tls=tls)


def _ssh_command(seen: EntrySeen, settings: Settings) -> str | None:
    """The command that goes straight into the job, with the reader's own name."""
    row = seen.entry
    if row.protocol is not Protocol.SSH:
        return None
    login = seen.reader.name if row.port_kind is PortKind.RANDOM else f"{seen.reader.name}+{row.job_id}"
    return f"ssh -p {row.port} {login}@{ssh_host(settings)}"
