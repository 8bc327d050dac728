"""Records by kind and key, by the other names that people and protocols use, and by the grounds they give.

State: one set of records with its reverse indexes. A list from control fills one slice by slice; once
it is the Table's, only the Table edits it. The answers depend on the set of records alone, never on
the order in which they came.

It is made for 100,000 entries. A name leads straight to the record that bears it, and to a dict of
bearers only where several do, because a small dict for each name took most of the memory and of the time.
There are few dicts as long as the list, because all grow at once and one that grows holds up the loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Final, TypeVar, cast

from gateway.contract.codec import RECORD_KINDS, Record
from gateway.contract.people import ClientCertificate, Grant, Key, Session, Token, User
from gateway.contract.routes import Certificate, Entry, Job, PortKind, Protocol
from gateway.core.grounds import claims

R = TypeVar("R", bound=Record)
Name = tuple[str, Hashable]
"""A word that tells what sort of name it is, and the name."""
Bearers = Record | dict[str, Record]
"""The one record that bears a name, or all that do by their keys."""

_CRUMB: Final = 2000
"""Names that are forgotten in one step when a whole set is given up: about a millisecond."""


class Index:
    """A set of records. `kind` words are those of the codec."""

    def __init__(self) -> None:
        """An empty set."""
        self._records: dict[type[object], dict[str, Record]] = {shape: {} for shape in RECORD_KINDS.values()}
        self._names: dict[type[object], defaultdict[str, dict[Hashable, Bearers]]] = {
            shape: defaultdict(dict) for shape in RECORD_KINDS.values()
        }

    def __len__(self) -> int:
        """How many records there are."""
        return sum(map(len, self._records.values()))

    def put(self, record: Record) -> Record | None:
        """Adds the record in place of the one of its kind and key, which is returned."""
        shape, key = type(record), str(record.id)
        records = self._records[shape]
        before = self._take(shape, key) if key in records else None
        records[key] = record
        names = self._names[shape]
        for word, name in _names(record):
            held = names[word].setdefault(name, record)
            if held is not record:
                self._share(names[word], name, held, record)
        return before

    def drop(self, kind: str, key: str) -> Record | None:
        """Takes the record away and returns it; None when there is none. Raises KeyError for an unknown kind."""
        return self._take(RECORD_KINDS[kind], key)

    def giver(self, ground: str) -> Record | None:
        """The record that gives this ground. A ground begins with the kind and key of its record."""
        kind, _, rest = ground.partition(":")
        records = self._records[RECORD_KINDS[kind]] if kind in RECORD_KINDS else {}
        record = records.get(rest) or records.get(rest.rpartition(":")[0])
        return record if record is not None and any(ground == given for given, _ in claims(record)) else None

    def all(self) -> Iterable[Record]:
        """Every record."""
        return (record for records in self._records.values() for record in records.values())

    def get(self, shape: type[R], key: object) -> R | None:
        """The record of this shape and key."""
        return cast("R | None", self._records[shape].get(str(key)))  # under a shape lie only its records

    def whole(self, shape: type[R]) -> list[R]:
        """All records of a shape, by id."""
        return sorted(cast("Iterable[R]", self._records[shape].values()), key=_order)

    def missing_in(self, later: Index) -> Iterable[Record]:
        """The records whose kind and key `later` does not have."""
        for shape, records in self._records.items():
            there = later._records[shape]  # another of our own kind
            yield from [record for key, record in records.items() if key not in there]

    def many(self, shape: type[R], word: str, name: Hashable) -> list[R]:
        """The records that bear a name, by id."""
        return sorted(cast("Iterable[R]", self._bearers(shape, word, name)), key=_order)

    def first(self, shape: type[R], word: str, name: Hashable) -> R | None:
        """Of the records that bear a name, the one of the lowest id."""
        held = self._names[shape][word].get(name)
        return cast("R | None", min(held.values(), key=_order) if isinstance(held, dict) else held)

    def names(self, shape: type[R], word: str) -> list[Hashable]:
        """All names of one sort that records of a shape bear."""
        return list(self._names[shape][word])

    def crumble(self) -> Iterator[None]:
        """Forgets everything, a little with each step: giving up a large set at once would hold up the loop."""
        parts: list[dict[Any, Any]] = list(self._records.values())
        parts += [held for words in self._names.values() for held in words.values()]
        for part in parts:
            while part:
                for _ in range(min(_CRUMB, len(part))):
                    part.popitem()
                yield

    def _bearers(self, shape: type[object], word: str, name: Hashable) -> Iterable[Record]:
        held = self._names[shape][word].get(name)
        if isinstance(held, dict):
            return held.values()
        return () if held is None else (held,)

    @staticmethod
    def _share(named: dict[Hashable, Bearers], name: Hashable, held: Bearers, record: Record) -> None:
        """Another record bears the name, too."""
        if isinstance(held, dict):
            held[str(record.id)] = record
        else:
            named[name] = {str(held.id): held, str(record.id): record}

    def _take(self, shape: type[object], key: str) -> Record | None:
        record = self._records[shape].pop(key, None)
        for word, name in () if record is None else _names(record):
            named = self._names[shape][word]
            held = named.get(name)
            if isinstance(held, dict):
                held.pop(key, None)
                if len(held) == 1:
                    (named[name],) = held.values()
            elif held is record:  # else the record bore the name twice
                del named[name]
        return record


def fixed_ssh(entry: Entry) -> bool:
    """Whether the entry makes its job reachable on the common ssh port."""
    return entry.protocol is Protocol.SSH and entry.port_kind is PortKind.FIXED


def _names(record: Record) -> Iterable[Name]:
    naming = _NAMING.get(type(record))
    return naming(record) if naming else ()  # what has no names is found by going through all of its kind


def _entry_names(entry: Entry) -> list[Name]:
    names: list[Name] = [("label", entry.label)]
    if entry.protocol is not Protocol.SSH:
        names.append(("name", entry.host.lower()))
    if entry.port_kind is PortKind.RANDOM:
        names.append(("port", entry.port))
    if fixed_ssh(entry):
        names.append(("ssh", entry.job_id))
    return names


def _certificate_names(certificate: Certificate) -> list[Name]:
    names: list[Name] = [("name", name.rstrip(".").lower()) for name in certificate.names]
    return [*names, ("default", True)] if certificate.default else names


_NAMING: Final[dict[type[object], Callable[[Any], Iterable[Name]]]] = {
    # Any: under each shape stands the function for that shape
    User: lambda user: (("name", user.name),),
    Key: lambda key: (("fingerprint", key.fingerprint),),
    ClientCertificate: lambda client: (("fingerprint", client.fingerprint),),
    Session: lambda session: (("hash", session.token_hash),),
    Token: lambda token: (("hash", token.token_hash),),
    Grant: lambda grant: (("user", grant.user_id), ("pair", (grant.entry_id, grant.user_id))),
    Job: lambda job: (("name", job.name), ("owner", job.owner_id)),
    Entry: _entry_names,
    Certificate: _certificate_names,
}


def _order(record: Record) -> tuple[int, str]:
    return (record.id, "") if isinstance(record.id, int) else (0, record.id)
