"""Grounds: why a visit may live. A visit rests on a few of them and ends when one is withdrawn.

A record gives grounds for as long as it exists and the facts that the ground vouches for stay the
same. A claim is a ground together with these facts, so that comparing the claims of two snapshots
tells exactly what was withdrawn between them.

user:3  session:abc  token:12  key:9  client:8  grant:45  job:jupyter-17  entry:17  entry:17:login  entry:17:open
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gateway.contract.codec import Record
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Entry, Job, JobPhase, Level, Protocol, Service

Claim = tuple[str, object]
End = tuple[float, str]
"""When a ground's time is over, in epoch seconds, and the ground."""
ENDING: Final = frozenset((Session, Token, ClientCertificate, Grant))
"""The shapes of records whose time may be over."""


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
    claiming = _CLAIMING.get(type(record))
    return claiming(record) if claiming else ()  # certificates, authorities and secrets give no ground


def ends(record: Record) -> list[End]:
    """When the record's time is over, with the ground that goes then; nothing for what has no end."""
    end = expires_at(record)
    return [] if end is None else [(end, ground) for ground, _ in claims(record)]


def _user_claims(user: User) -> tuple[Claim, ...]:
    return () if user.disabled else ((user_ground(user.id), user.name),)


def _job_claims(job: Job) -> tuple[Claim, ...]:
    return () if job.phase is JobPhase.ENDED else ((job_ground(job.id), (job.owner_id, job.engine)),)


def _token_claims(token: Token) -> tuple[Claim, ...]:
    return ((token_ground(token.id), (token.user_id, token.token_hash, token.scope, token.entry_id)),)


def _client_claims(client: ClientCertificate) -> tuple[Claim, ...]:
    return ((client_ground(client.id), (client.user_id, client.entry_id, client.fingerprint)),)


def _entry_claims(entry: Entry) -> tuple[Claim, ...]:
    place = (entry_ground(entry.id), (entry.protocol, entry.port, entry.job_id, entry.owner_id, entry.target))
    if not open_to_users(entry):
        return (place,)
    login = (entry_ground(entry.id, "login"), None)
    return (place, login, (entry_ground(entry.id, "open"), None)) if open_to_anyone(entry) else (place, login)


_CLAIMING: Final[dict[type[object], Callable[[Any], tuple[Claim, ...]]]] = {
    # Any: under each shape stands the function for that shape
    User: _user_claims,
    Key: lambda key: ((key_ground(key.id), (key.user_id, key.fingerprint)),),
    Session: lambda session: ((session_ground(session.id), (session.user_id, session.token_hash)),),
    Token: _token_claims,
    ClientCertificate: _client_claims,
    Grant: lambda grant: ((grant_ground(grant.id), (grant.entry_id, grant.user_id)),),
    Job: _job_claims,
    Entry: _entry_claims,
}
