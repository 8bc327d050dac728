"""Who is at the door: sealed tickets, bearer tokens, key and certificate fingerprints become a Visitor.

A Visitor says who came and on what credential; what they may do is decided elsewhere. Sealing is
AES-256-GCM under a key that HKDF (RFC 5869) derives from the shared secret for one purpose only, so
that a ticket made for one use never opens as another. Randomness and the time are arguments.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gateway.contract.people import Scope, Session, Token
from gateway.contract.routes import Entry, Secret
from gateway.core.grounds import client_ground, key_ground, session_ground, token_ground
from gateway.core.table import Table

NONCE_BYTES: Final = 12
SEALED_LIMIT: Final = 4096
"""Characters of a sealed text; a longer one is not ours (browsers keep cookies up to 4,096 bytes, RFC 6265 6.1)."""


class Via(StrEnum):
    """On what a visitor's name rests."""

    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the name of a credential
    KEY = "key"
    HOME_KEY = "home-key"
    PASSWORD = "password"  # noqa: S105 - the name of a credential
    CERTIFICATE = "certificate"
    NONE = "none"


class Purpose(StrEnum):
    """What a sealed text is for; each has its own key."""

    ENTRY_TICKET = "entry-ticket"
    HOP_STATE = "hop-state"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who came. `user_id` None is somebody who did not sign in; `grounds` are those of their credential.

    The ground of the person themselves (`user:3`) is added by decide() and need not be among them.
    `cluster` is set for who signed in with a key of the home there: it opens the person's own jobs on
    that cluster and nothing else.
    """

    user_id: int | None
    name: str
    grounds: tuple[str, ...]
    via: Via
    cluster: str | None = None


ANONYMOUS: Final = Visitor(None, "", (), Via.NONE)


def seal(secret: Secret, purpose: Purpose, payload: dict[str, Any], nonce: bytes) -> str:
    """The payload as an opaque url-safe text; `nonce` is 12 bytes, random, never used twice."""
    plain = json.dumps(payload, separators=(",", ":")).encode()
    sealed = _cipher(secret, purpose).encrypt(nonce, plain, None)
    return base64.urlsafe_b64encode(nonce + sealed).rstrip(b"=").decode()


def open_sealed(secrets: Sequence[Secret], purpose: Purpose, text: str) -> dict[str, Any] | None:
    """The payload of a text that one of the secrets sealed for this purpose; None for any other text."""
    raw = _raw(text)
    if raw is None:
        return None
    for secret in secrets:
        try:
            plain = _cipher(secret, purpose).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], None)
        except InvalidTag:
            continue
        payload = json.loads(plain)  # authenticated, hence what seal() wrote
        return payload if isinstance(payload, dict) else None
    return None


def entry_ticket(visitor: Visitor, session_id: str, entry: Entry, now: float, lifetime_s: float) -> dict[str, Any]:
    """The payload of an entry's own cookie: it names the session and is good for this entry alone."""
    return {
        "user_id": visitor.user_id,
        "session_id": session_id,
        "entry_id": entry.id,
        "issued": now,
        "expires": now + lifetime_s,
    }


def by_ticket(payload: dict[str, Any], table: Table, entry: Entry, now: float) -> Visitor | None:
    """Who an opened entry ticket belongs to; None when it is of another entry, or it or its session is over."""
    session = table.session(str(payload.get("session_id")))
    if session is None or payload.get("entry_id") != entry.id or payload.get("user_id") != session.user_id:
        return None
    if not now < float(payload.get("expires", 0)):
        return None
    return by_session(session, table)


def by_session(session: Session, table: Table) -> Visitor | None:
    """The person who signed in; None when they are gone."""
    return _visitor(session.user_id, session_ground(session.id), Via.SESSION, table)


def by_bearer(bearer: str, table: Table, entry: Entry, *, secure: bool) -> Visitor | None:
    """Who sent this token for an entry.

    An `entry:connect` token is good anywhere (for its one entry, when it names one). A session or an
    API token opens far more than one door, so it counts only when `secure`: over TLS or from loopback.
    """
    digest = token_digest(bearer)
    token = table.token_by_hash(digest)
    if token is not None:
        return (
            _visitor(token.user_id, token_ground(token.id), Via.TOKEN, table) if _fits(token, entry, secure) else None
        )
    session = table.session_by_token_hash(digest)
    return by_session(session, table) if session is not None and secure else None


def by_key(fingerprint: str, user_name: str, table: Table) -> Visitor | None:
    """The named person, when the key of this fingerprint (`SHA256:...`) stands in their profile."""
    user = table.user_by_name(user_name)
    if user is None:
        return None
    mine = [key for key in table.key(fingerprint) if key.user_id == user.id]
    return _visitor(user.id, key_ground(mine[0].id), Via.KEY, table) if mine else None


def by_home_key(user_name: str, cluster: str, table: Table) -> Visitor | None:
    """The named person, whose home on a cluster holds the key that they signed with."""
    user = table.user_by_name(user_name)
    return Visitor(user.id, user.name, (), Via.HOME_KEY, cluster) if user else None


def by_certificate(fingerprint: str, table: Table, entry: Entry) -> Visitor | None:
    """The person to whom the client certificate of this hex SHA-256 was given, when it was for this entry.

    The certificate's signature and its owner's key are the handshake's to check.
    """
    client = table.client(fingerprint)
    if client is None or client.entry_id != entry.id:
        return None
    return _visitor(client.user_id, client_ground(client.id), Via.CERTIFICATE, table)


def by_password(user_id: int, table: Table) -> Visitor | None:
    """The person whose password control found right; None when the table does not know them yet."""
    user = table.user(user_id)
    return Visitor(user.id, user.name, (), Via.PASSWORD) if user else None


def token_digest(bearer: str) -> str:
    """The hex SHA-256 by which sessions and tokens are known."""
    return hashlib.sha256(bearer.encode("utf-8", "surrogateescape")).hexdigest()


def _fits(token: Token, entry: Entry, secure: bool) -> bool:
    if token.scope is Scope.ENTRY_CONNECT:
        return token.entry_id is None or token.entry_id == entry.id
    return secure


def _visitor(user_id: int, credential: str, via: Via, table: Table) -> Visitor | None:
    user = table.user(user_id)
    return Visitor(user.id, user.name, (credential,), via) if user else None


def _raw(text: str) -> bytes | None:
    if len(text) > SEALED_LIMIT or not text.isascii():
        return None
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    return raw if len(raw) > NONCE_BYTES else None


@lru_cache(maxsize=32)
def _cipher(secret: Secret, purpose: Purpose) -> AESGCM:
    """Kept, because deriving it costs more than everything else that a request needs."""
    return AESGCM(HKDF(SHA256(), 32, salt=None, info=f"starlight {purpose}".encode()).derive(secret.value.encode()))
