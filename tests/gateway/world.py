"""A small world of records for the gateway's tests: two people, a job, an entry of any kind."""

from __future__ import annotations

from typing import Any

from gateway.contract.codec import Record
from gateway.contract.people import ClientCertificate, Grant, Key, Scope, Session, Token, User
from gateway.contract.routes import (
    Entry,
    EntryLimits,
    Job,
    JobPhase,
    Level,
    PortKind,
    Protocol,
    Secret,
    Service,
    Target,
)
from gateway.core.decide import Admission, decide
from gateway.core.table import Table
from gateway.core.tickets import ANONYMOUS, Via, Visitor

NOW = 1_800_000_000.0
SECRET = Secret("ticket-1", "ticket", 1, "first secret")


def user(user_id: int = 1, name: str = "alice", *, disabled: bool = False) -> User:
    """A person."""
    return User(user_id, name, "user", disabled)


def session(
    session_id: str = "s1", user_id: int = 1, *, expires_at: float = NOW + 3600, token_hash: str = ""
) -> Session:
    """A sign-in that lasts an hour from NOW."""
    return Session(session_id, user_id, token_hash or f"hash-{session_id}", expires_at)


def token(
    token_id: int = 12,
    user_id: int = 1,
    *,
    scope: Scope = Scope.API,
    entry_id: int | None = None,
    expires_at: float | None = None,
    token_hash: str = "",
) -> Token:
    """An API token."""
    return Token(token_id, user_id, token_hash or f"token-{token_id}", scope, entry_id, expires_at)


def key(key_id: int = 9, user_id: int = 1, fingerprint: str = "SHA256:aaa") -> Key:
    """An SSH key."""
    return Key(key_id, user_id, fingerprint)


def client(
    client_id: int = 8,
    user_id: int = 1,
    *,
    entry_id: int = 17,
    fingerprint: str = "ab" * 32,
    expires_at: float = NOW + 3600,
) -> ClientCertificate:
    """A client certificate for entry 17."""
    return ClientCertificate(client_id, user_id, entry_id, fingerprint, expires_at)


def grant(grant_id: int = 45, entry_id: int = 17, user_id: int = 2, *, expires_at: float | None = None) -> Grant:
    """What a share code of entry 17 gave Bob."""
    return Grant(grant_id, entry_id, user_id, expires_at)


def job(
    job_id: str = "jupyter-17", owner_id: int = 1, *, phase: JobPhase = JobPhase.RUNNING, name: str = "jupyter"
) -> Job:
    """Alice's job."""
    return Job(job_id, name, owner_id, "alice", "local", phase, "running", "node1", "", "local")


def entry(
    entry_id: int = 17,
    *,
    protocol: Protocol = Protocol.HTTP,
    level: Level = Level.PRIVATE,
    port_kind: PortKind = PortKind.FIXED,
    port: int = 8888,
    host: str = "",
    job_id: str = "jupyter-17",
    target_port: int | None = 8000,
    service: Service = Service.PORT,
    cors_origins: tuple[str, ...] = (),
    limits: EntryLimits | None = None,
) -> Entry:
    """An entry of Alice's job."""
    label = f"{entry_id:032x}"
    target = Target("local", job_id, service, target_port)
    name = host or f"{label}.proxy.localhost"
    return Entry(
        entry_id, label, "web", protocol, level, port_kind, port, name, job_id, 1, target, cors_origins, limits
    )


def table(*records: Record, now: float = NOW, **settings: Any) -> Table:
    """A table that holds Alice, Bob and these records, confirmed at `now`."""
    made = Table(**settings)
    made.replace([user(), user(2, "bob"), *records], 1)
    made.confirm(now)
    return made


def visitor(user_id: int = 1, name: str = "alice", *grounds: str, via: Via = Via.SESSION) -> Visitor:
    """Somebody who signed in, by session s1 unless told otherwise."""
    return Visitor(user_id, name, grounds, via)


def admission(through: Entry, *others: Record) -> Admission:
    """Alice's admission through her entry."""
    decided = decide(through, visitor(), table(job(through.job_id), through, *others), NOW)
    assert isinstance(decided, Admission)
    return decided


def anonymous_admission(through: Entry) -> Admission:
    """A stranger's admission through an open entry."""
    decided = decide(through, ANONYMOUS, table(job(through.job_id), through), NOW)
    assert isinstance(decided, Admission)
    return decided
