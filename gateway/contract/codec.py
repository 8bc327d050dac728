"""Records, changes and messages to JSON and back, checked on the way in.

A record's kind is a word; `RECORD_KINDS` is the closed list. Unknown fields are refused: both sides
ship together, and CONTRACT_VERSION tells when they do not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from pydantic import TypeAdapter

from gateway.contract.challenges import Challenge
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Authority, Certificate, Entry, Job, Secret

Record = (
    User
    | Key
    | Session
    | Token
    | ClientCertificate
    | Grant
    | Job
    | Entry
    | Certificate
    | Authority
    | Challenge
    | Secret
)

RECORD_KINDS: Final[dict[str, type[Record]]] = {
    "user": User,
    "key": Key,
    "session": Session,
    "token": Token,
    "client": ClientCertificate,
    "grant": Grant,
    "job": Job,
    "entry": Entry,
    "certificate": Certificate,
    "authority": Authority,
    "challenge": Challenge,
    "secret": Secret,
}
_KIND_OF: Final[dict[type[Record], str]] = {shape: kind for kind, shape in RECORD_KINDS.items()}
_FIELDS: Final[dict[str, frozenset[str]]] = {
    kind: frozenset(field.name for field in fields(shape)) for kind, shape in RECORD_KINDS.items()
}
_ADAPTERS: Final[dict[str, TypeAdapter[Any]]] = {kind: TypeAdapter(shape) for kind, shape in RECORD_KINDS.items()}


@dataclass(frozen=True, slots=True)
class Change:
    """One record put (`record` set) or taken away (`record` None) at `revision`."""

    revision: int
    kind: str
    key: str
    record: Record | None


def kind_of(record: Record) -> str:
    """The kind word of a record."""
    return _KIND_OF[type(record)]


def key_of(record: Record) -> str:
    """The key that names a record among those of its kind."""
    return str(record.id)


def encode_record(record: Record) -> dict[str, Any]:
    """The record as JSON-ready plain data."""
    plain: dict[str, Any] = _ADAPTERS[kind_of(record)].dump_python(record, mode="json")
    return plain


def decode_record(kind: str, plain: Any) -> Record:
    """The record from plain data.

    Raises ValueError (pydantic's ValidationError is one) for an unknown kind or a wrong shape.
    """
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        raise ValueError(f"unknown record kind {kind!r}")
    if isinstance(plain, dict) and not plain.keys() <= _FIELDS[kind]:
        raise ValueError(f"a {kind} has no field {', '.join(sorted(plain.keys() - _FIELDS[kind]))}")
    record: Record = adapter.validate_python(plain)
    return record


def encode_change(change: Change) -> dict[str, Any]:
    """The change as JSON-ready plain data."""
    return {
        "revision": change.revision,
        "kind": change.kind,
        "key": change.key,
        "record": None if change.record is None else encode_record(change.record),
    }


def _is_kind(kind: Any) -> bool:
    return isinstance(kind, str) and kind in RECORD_KINDS


def decode_change(plain: Any) -> Change:
    """The change from plain data. Raises ValueError for a wrong shape."""
    try:
        revision, kind, key, record = (plain[name] for name in ("revision", "kind", "key", "record"))
    except (KeyError, TypeError) as fault:
        raise ValueError("a change has revision, kind, key and record") from fault
    if not isinstance(revision, int) or not isinstance(key, str) or not _is_kind(kind):
        raise ValueError("a change has an integer revision, a known kind and a text key")
    return Change(revision, kind, key, None if record is None else decode_record(kind, record))
