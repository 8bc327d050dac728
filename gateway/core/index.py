"""Records by kind and key, by the other names that people and protocols use, and by the grounds they give.

State: one set of records with its reverse indexes. A list from control fills one slice by slice; once
it is the Table's, only the Table edits it. The answers depend on the set of records alone, never on
the order in which they came.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar, cast

from gateway.contract.codec import RECORD_KINDS, Record
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Certificate, Entry, Job, PortKind, Protocol
from gateway.core.grounds import claims

R = TypeVar("R", bound=Record)
Name = tuple[str, Hashable]
"""A word that tells what sort of name it is, and the name."""


class Index:
    """A set of records. `kind` words are those of the codec."""

    def __init__(self) -> None:
        """An empty set."""
        self._records: dict[type[object], dict[str, Record]] = {shape: {} for shape in RECORD_KINDS.values()}
        self._names: dict[type[object], dict[Name, dict[str, Record]]] = {shape: {} for shape in RECORD_KINDS.values()}
        self._claims: dict[str, tuple[object, Record]] = {}

    def put(self, record: Record) -> Record | None:
        """Adds the record in place of the one of its kind and key, which is returned."""
        shape, key = type(record), str(record.id)
        before = self._take(shape, key)
        self._records[shape][key] = record
        for name in _names(record):
            self._names[shape].setdefault(name, {})[key] = record
        for ground, facts in claims(record):
            self._claims[ground] = facts, record
        return before

    def drop(self, kind: str, key: str) -> Record | None:
        """Takes the record away and returns it; None when there is none. Raises KeyError for an unknown kind."""
        return self._take(RECORD_KINDS[kind], key)

    def giver(self, ground: str) -> Record | None:
        """The record that gives this ground."""
        claim = self._claims.get(ground)
        return claim and claim[1]

    def lost_in(self, later: Index) -> frozenset[str]:
        """The grounds that stand here and not in `later`, or there with other facts."""
        kept = later._claims  # another of our own kind
        return frozenset(
            ground for ground, (facts, _) in self._claims.items() if ground not in kept or kept[ground][0] != facts
        )

    def all(self) -> Iterable[Record]:
        """Every record."""
        return (record for records in self._records.values() for record in records.values())

    def get(self, shape: type[R], key: object) -> R | None:
        """The record of this shape and key."""
        return cast("R | None", self._records[shape].get(str(key)))  # under a shape lie only its records

    def whole(self, shape: type[R]) -> list[R]:
        """All records of a shape, by id."""
        return sorted(cast("Iterable[R]", self._records[shape].values()), key=_order)

    def many(self, shape: type[R], word: str, name: Hashable) -> list[R]:
        """The records that bear a name, by id."""
        return sorted(cast("Iterable[R]", self._names[shape].get((word, name), {}).values()), key=_order)

    def first(self, shape: type[R], word: str, name: Hashable) -> R | None:
        """Of the records that bear a name, the one of the lowest id."""
        bearers = self._names[shape].get((word, name))
        return cast("R", min(bearers.values(), key=_order)) if bearers else None

    def names(self, shape: type[R], word: str) -> list[Hashable]:
        """All names of one sort that records of a shape bear."""
        return [name for sort, name in self._names[shape] if sort == word]

    def _take(self, shape: type[object], key: str) -> Record | None:
        record = self._records[shape].pop(key, None)
        for name in () if record is None else _names(record):
            bearers = self._names[shape][name]
            del bearers[key]
            if not bearers:
                del self._names[shape][name]
        for ground, _ in () if record is None else claims(record):
            del self._claims[ground]
        return record


def fixed_ssh(entry: Entry) -> bool:
    """Whether the entry makes its job reachable on the common ssh port."""
    return entry.protocol is Protocol.SSH and entry.port_kind is PortKind.FIXED


def _names(record: Record) -> Iterable[Name]:
    match record:
        case User():
            yield "name", record.name
        case Key() | ClientCertificate():
            yield "fingerprint", record.fingerprint
        case Session() | Token():
            yield "hash", record.token_hash
        case Grant():
            yield "user", record.user_id
            yield "pair", (record.entry_id, record.user_id)
        case Job():
            yield "name", record.name
            yield "owner", record.owner_id
        case Entry():
            yield from _entry_names(record)
        case Certificate():
            for name in record.names:
                yield "name", name.rstrip(".").lower()
            if record.default:
                yield "default", True
        case _:
            return  # authorities and secrets are found by going through all of them


def _entry_names(entry: Entry) -> Iterable[Name]:
    yield "label", entry.label
    if entry.protocol is not Protocol.SSH:
        yield "host", (entry.host.lower(), entry.port)
        yield "name", entry.host.lower()
    if entry.port_kind is PortKind.RANDOM:
        yield "port", entry.port
    if fixed_ssh(entry):
        yield "ssh", entry.job_id


def _order(record: Record) -> tuple[int, str]:
    return (record.id, "") if isinstance(record.id, int) else (0, record.id)
