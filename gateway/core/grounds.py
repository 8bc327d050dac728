"""Grounds: why a visit may live. A visit rests on a few of them and ends when one is withdrawn.

A record gives grounds for as long as it exists and the facts that the ground vouches for stay the
same. A claim is a ground together with these facts, so that comparing the claims of two snapshots
tells exactly what was withdrawn between them.

user:3  session:abc  token:12  key:9  client:8  grant:45  job:jupyter-17  entry:17  entry:17:login  entry:17:open
"""

from __future__ import annotations

from collections.abc import Iterable

from gateway.contract.codec import Record
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Entry, Job, JobPhase, Level, Protocol, Service

Claim = tuple[str, object]


def user_ground(user_id: int) -> str:
    """The person exists and is not disabled."""
    return f"user:{user_id}"


def session_ground(session_id: str) -> str:
    """The console sign-in was not ended."""
    return f"session:{session_id}"


def token_ground(token_id: int) -> str:
    """The API token was not revoked."""
    return f"token:{token_id}"


def key_ground(key_id: int) -> str:
    """The SSH key still stands in the person's profile."""
    return f"key:{key_id}"


def client_ground(client_id: int) -> str:
    """The client certificate was not revoked."""
    return f"client:{client_id}"


def grant_ground(grant_id: int) -> str:
    """What a redeemed share code gave was not taken back."""
    return f"grant:{grant_id}"


def job_ground(job_id: str) -> str:
    """The job has not ended."""
    return f"job:{job_id}"


def entry_ground(entry_id: int, word: str = "") -> str:
    """The entry exists and leads to the same place; with `login` or `open`: its level still admits so many."""
    return f"entry:{entry_id}:{word}" if word else f"entry:{entry_id}"


def open_to_anyone(entry: Entry) -> bool:
    """Whether the entry admits people who did not sign in. Never where the gateway itself opens a shell."""
    shell = entry.protocol is Protocol.SSH or entry.target.service is Service.TERMINAL
    return entry.level is Level.OPEN and not shell


def open_to_users(entry: Entry) -> bool:
    """Whether the entry admits every user who signed in."""
    return entry.level is Level.LOGIN or open_to_anyone(entry)


def expires_at(record: Record) -> float | None:
    """When a credential's or grant's time is over, in epoch seconds; None for what has no end."""
    return record.expires_at if isinstance(record, Session | Token | ClientCertificate | Grant) else None


def expired(record: Record, now: float) -> bool:
    """Whether the record's time is over."""
    end = expires_at(record)
    return end is not None and end <= now


def claims(record: Record) -> tuple[Claim, ...]:
    """The grounds that a record gives, each with the facts it vouches for."""
    return tuple(_claims(record))


def _claims(record: Record) -> Iterable[Claim]:
    match record:
        case User() if not record.disabled:
            yield user_ground(record.id), record.name
        case Key():
            yield key_ground(record.id), (record.user_id, record.fingerprint)
        case Session():
            yield session_ground(record.id), (record.user_id, record.token_hash)
        case Token():
            yield token_ground(record.id), (record.user_id, record.token_hash, record.scope, record.entry_id)
        case ClientCertificate():
            yield client_ground(record.id), (record.user_id, record.entry_id, record.fingerprint)
        case Grant():
            yield grant_ground(record.id), (record.entry_id, record.user_id)
        case Job() if record.phase is not JobPhase.ENDED:
            yield job_ground(record.id), (record.owner_id, record.engine)
        case Entry():
            yield from _entry_claims(record)
        case _:
            return  # certificates, authorities, secrets, disabled people and ended jobs give no ground


def _entry_claims(entry: Entry) -> Iterable[Claim]:
    place = (entry.protocol, entry.port, entry.job_id, entry.owner_id, entry.target)
    yield entry_ground(entry.id), place
    if open_to_users(entry):
        yield entry_ground(entry.id, "login"), None
    if open_to_anyone(entry):
        yield entry_ground(entry.id, "open"), None
