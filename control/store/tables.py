"""All tables. Instants are seconds since the epoch, UTC; closed choices are stored as their words.

Ids of users and entries are never given twice (`sqlite_autoincrement`): uids of jobs and the grounds
of visits are made from them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Generic, TypeVar

from sqlalchemy import JSON, BigInteger, Double, ForeignKey, Index, Integer, MetaData, String, Text, UniqueConstraint
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.types import TypeDecorator

from control.domain.events import EventCode, EventKind
from control.domain.jobs.states import State, Wanted
from control.domain.people import Role
from gateway.contract.people import Scope
from gateway.contract.routes import AppProtocol, Level, PortKind, Protocol, Service

_E = TypeVar("_E", bound=StrEnum)


class Word(TypeDecorator[_E], Generic[_E]):
    """A closed choice, stored as its word."""

    impl = String(64)
    cache_ok = True

    def __init__(self, choices: type[_E]) -> None:
        super().__init__()
        self.choices = choices

    def process_bind_param(self, value: _E | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's
        """The word to store."""
        return None if value is None else self.choices(value).value

    def process_result_value(self, value: str | None, dialect: Dialect) -> _E | None:  # noqa: ARG002 - SQLAlchemy's
        """The choice that was stored."""
        return None if value is None else self.choices(value)


class Table(DeclarativeBase):
    """What all tables share: the naming of constraints, so that migrations can name them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {str: Text(), float: Double(), dict[str, Any]: JSON(), list[Any]: JSON()}  # noqa: RUF012


_SEQUENCED: Final = {"sqlite_autoincrement": True}


class User(Table):
    """A person. A removed one stays as a row (`removed_at`), so that neither name nor id is given again."""

    __tablename__ = "user_account"
    __table_args__ = (_SEQUENCED,)
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(32), unique=True)
    password_hash: Mapped[str]
    role: Mapped[Role] = mapped_column(Word(Role))
    disabled: Mapped[bool] = mapped_column(default=False)
    language: Mapped[str] = mapped_column(String(2))
    created_at: Mapped[float]
    removed_at: Mapped[float | None]

    @property
    def spoken_language(self) -> str:
        """The language to speak to this person in: the one they came with, Chinese before their first sign-in."""
        return self.language or "zh"


class Identity(Table):
    """Who a person is on a cluster. `uid` is None where jobs run as the platform's own user."""

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("user_id", "cluster"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    cluster: Mapped[str] = mapped_column(String(64))
    uid: Mapped[int | None] = mapped_column(BigInteger)
    unix_name: Mapped[str]
    home: Mapped[str]


class Session(Table):
    """A console sign-in. Bearer token, cookie and page secret are three secrets, kept as hex SHA-256 only.

    The cookie is not the token: a page on another port of the console's host receives the cookie and
    could send it back as a bearer token.
    """

    __tablename__ = "session"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    cookie_hash: Mapped[str] = mapped_column(String(64), unique=True)
    csrf_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[float]
    expires_at: Mapped[float] = mapped_column(index=True)
    address: Mapped[str]


class Token(Table):
    """A named API token, kept as hex SHA-256."""

    __tablename__ = "token"
    __table_args__ = (_SEQUENCED,)
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[Scope] = mapped_column(Word(Scope))
    entry_id: Mapped[int | None] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"))
    created_at: Mapped[float]
    expires_at: Mapped[float | None]
    last_used_at: Mapped[float | None]


class SshKey(Table):
    """An SSH public key of a person's profile. `fingerprint` is OpenSSH's `SHA256:...`."""

    __tablename__ = "ssh_key"
    __table_args__ = (UniqueConstraint("user_id", "fingerprint"), _SEQUENCED)
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    name: Mapped[str]
    public_key: Mapped[str]
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    created_at: Mapped[float]
    last_used_at: Mapped[float | None]


class Job(Table):
    """A job: what was asked, what is wanted, what was observed."""

    __tablename__ = "job"
    __table_args__ = (UniqueConstraint("owner_id", "client_key"), Index("ix_job_owner_state", "owner_id", "state"))
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("user_account.id"))
    name: Mapped[str]
    app: Mapped[str | None]
    cluster: Mapped[str] = mapped_column(String(64))
    partition: Mapped[str] = mapped_column(String(64))
    image: Mapped[str | None]
    command: Mapped[list[Any]]
    env: Mapped[dict[str, Any]]
    nodes: Mapped[int]
    cpus: Mapped[int]
    gpus: Mapped[int]
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)
    time_limit_s: Mapped[int | None]
    readonly: Mapped[list[Any]] = mapped_column(default=list)
    """Directories outside the home that the job may read: environments of apps."""
    home: Mapped[str]
    work_dir: Mapped[str]
    client_key: Mapped[str | None] = mapped_column(String(200))
    wanted: Mapped[Wanted] = mapped_column(Word(Wanted), default=Wanted.RUNNING)
    state: Mapped[State] = mapped_column(Word(State), default=State.QUEUED, index=True)
    reason_code: Mapped[EventCode | None] = mapped_column(Word(EventCode))
    reason_params: Mapped[dict[str, Any]] = mapped_column(default=dict)
    conditions: Mapped[list[Any]] = mapped_column(default=list)
    handle: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """What the runtime needs to find the job again; None while nothing was asked of it."""
    engine_heard_at: Mapped[float] = mapped_column(default=0.0)
    """The instant of the last event of the engine's own that is stored already."""
    node: Mapped[str] = mapped_column(default="")
    exit_code: Mapped[int | None]
    submitted_at: Mapped[float]
    scheduled_at: Mapped[float | None]
    started_at: Mapped[float | None]
    released_at: Mapped[float | None]
    ended_at: Mapped[float | None]
    closing_at: Mapped[float | None]
    """When closing was asked while the job lived."""
    closing_by: Mapped[str | None]
    closed_at: Mapped[float | None]
    """When an ended job was moved to history by hand."""
    forgotten: Mapped[bool] = mapped_column(default=False)
    """Whether gateways were told to forget it: it ended so long ago that nobody asks for its entries."""
    revision: Mapped[int] = mapped_column(BigInteger, default=0, index=True)
    """Raised by every change of the job, its entries, shares, grants and events, for who watches it live."""


class Event(Table):
    """Something that happened to a job, as code and parameters."""

    __tablename__ = "event"
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), index=True)
    at: Mapped[float]
    kind: Mapped[EventKind] = mapped_column(Word(EventKind))
    code: Mapped[EventCode] = mapped_column(Word(EventCode))
    params: Mapped[dict[str, Any]]


class Entry(Table):
    """An access entry of a job."""

    __tablename__ = "entry"
    __table_args__ = (UniqueConstraint("job_id", "name"), UniqueConstraint("job_id", "target_port"), _SEQUENCED)
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    label: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str]
    protocol: Mapped[Protocol] = mapped_column(Word(Protocol))
    level: Mapped[Level] = mapped_column(Word(Level))
    port_kind: Mapped[PortKind] = mapped_column(Word(PortKind))
    port: Mapped[int]
    """The public port."""
    held_port: Mapped[int | None] = mapped_column(unique=True)
    """The random port while it is held for this entry; None for fixed ports and after the job's end."""
    host: Mapped[str] = mapped_column(String(253), index=True)
    target_port: Mapped[int | None]
    service: Mapped[Service] = mapped_column(Word(Service))
    app_protocol: Mapped[AppProtocol] = mapped_column(Word(AppProtocol))
    app_pin: Mapped[str | None] = mapped_column(String(64))
    """SHA-256 of the certificate that an https app must show; None: whichever."""
    cors_origins: Mapped[list[str]] = mapped_column(JSON, default=list)
    """Other sites whose pages may call this entry from a browser."""
    limits: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    """What the owner allows at most; only limits that are set."""
    created_at: Mapped[float]
    ready_at: Mapped[float | None]
    """When all gateways first served it in its present shape."""
    port_lost: Mapped[bool] = mapped_column(default=False)
    """Whether a gateway or the supervisor could not get the random port; it is tried again."""


class Share(Table):
    """The share code of an entry. Looked up by HMAC; kept encrypted for the owner who copies it again."""

    __tablename__ = "share"
    id: Mapped[int] = mapped_column(primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"), unique=True)
    code_hmac: Mapped[str] = mapped_column(String(64), index=True)
    code_sealed: Mapped[str]
    chosen: Mapped[bool]
    """Whether the owner chose the code; such a one redeems only together with its entry."""
    expires_at: Mapped[float | None]
    max_uses: Mapped[int | None]
    uses: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[float]


class Grant(Table):
    """A person redeemed a share code."""

    __tablename__ = "grant_given"
    __table_args__ = (UniqueConstraint("entry_id", "user_id"), _SEQUENCED)
    id: Mapped[int] = mapped_column(primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    redeemed_at: Mapped[float]
    expires_at: Mapped[float | None]


class HopCode(Table):
    """A one-time code that carries a sign-in from the console to an entry. Kept as hex SHA-256."""

    __tablename__ = "hop_code"
    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("entry.id", ondelete="CASCADE"))
    session_id: Mapped[str] = mapped_column(ForeignKey("session.id", ondelete="CASCADE"))
    user_id: Mapped[int] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    challenge: Mapped[str] = mapped_column(String(64))
    expires_at: Mapped[float] = mapped_column(index=True)


class LoginFailure(Table):
    """A wrong password or share code: for whom, from where, when. `purpose` tells the two apart."""

    __tablename__ = "login_failure"
    __table_args__ = (Index("ix_login_failure_address_at", "address", "at"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    purpose: Mapped[str] = mapped_column(String(16))
    account: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[float] = mapped_column(index=True)


class Record(Table):
    """What gateways know: one row a (kind, key); `payload` None is a tombstone. Private fields lie sealed."""

    __tablename__ = "record"
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    revision: Mapped[int] = mapped_column(BigInteger, unique=True)
    payload: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    written_at: Mapped[float]


class Meta(Table):
    """Single facts about this database: its epoch, the oldest revision that can still be watched."""

    __tablename__ = "meta"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str]


class Counter(Table):
    """Numbers given out one after another: feed revisions, job numbers."""

    __tablename__ = "counter"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[int] = mapped_column(BigInteger)


class Lease(Table):
    """Who works on what until when. Each holder gets a higher token, which guards what it writes."""

    __tablename__ = "lease"
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    holder: Mapped[str]
    token: Mapped[int] = mapped_column(BigInteger)
    expires_at: Mapped[float]


class Audit(Table):
    """Who did what, on what, from where, and how it came out."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float] = mapped_column(index=True)
    user_id: Mapped[int | None] = mapped_column(Integer)
    user_name: Mapped[str]
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(index=True)
    address: Mapped[str]
    outcome: Mapped[str] = mapped_column(String(64))
    detail: Mapped[dict[str, Any]]


class SecretRow(Table):
    """A key that all gateways share, sealed at rest."""

    __tablename__ = "secret"
    __table_args__ = (UniqueConstraint("use", "generation"),)
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    use: Mapped[str] = mapped_column(String(16))
    generation: Mapped[int]
    value_sealed: Mapped[str]
    created_at: Mapped[float]


class CertificateRow(Table):
    """A certificate that gateways serve; its key is sealed at rest."""

    __tablename__ = "certificate"
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    names: Mapped[list[Any]]
    chain_pem: Mapped[str]
    key_sealed: Mapped[str]
    is_default: Mapped[bool]
    not_after: Mapped[float]
    created_at: Mapped[float]
