"""Who may pass: users, their keys, sessions, tokens and client certificates, and the grants that share codes gave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """What a token can do. `entry:connect` passes entries and nothing else; `api` is the whole API as its user."""

    API = "api"
    ENTRY_CONNECT = "entry:connect"


@dataclass(frozen=True, slots=True)
class User:
    """A person. `language` is `zh` or `en`: the one they chose in the console."""

    id: int
    name: str
    role: str
    disabled: bool
    language: str = "zh"


@dataclass(frozen=True, slots=True)
class Key:
    """An SSH public key of a person's profile; `fingerprint` is OpenSSH's `SHA256:...`."""

    id: int
    user_id: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Session:
    """A console sign-in. `id` names it in tickets; `token_hash` is the hex SHA-256 of its bearer token.

    `expires_at` is in seconds since the epoch, UTC.
    """

    id: str
    user_id: int
    token_hash: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Token:
    """A named API token. `entry_id` narrows an `entry:connect` token to one entry; `expires_at` None never ends."""

    id: int
    user_id: int
    token_hash: str
    scope: Scope
    entry_id: int | None
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class Grant:
    """A person redeemed an entry's share code: they may pass until the owner cancels or `expires_at`."""

    id: int
    entry_id: int
    user_id: int
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A TLS client certificate by which a person passes one entry.

    `fingerprint` is the hex SHA-256 of the certificate (DER); `expires_at` is its own end.
    """

    id: int
    user_id: int
    entry_id: int
    fingerprint: str
    expires_at: float
