"""The lines of a list on the feed: {"slice": {"records": {KIND: [record...], ...}, "revision": N, "last": bool}}.

They are the one message of which there are many at once, so that they have a way of their own: control
passes on each record's JSON as its database has it, and a gateway reads a line and checks its records in
one go. Unknown kinds and fields are refused, as in the codec.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, make_dataclass
from typing import Any, Final, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from gateway.contract.codec import RECORD_KINDS, Record, encode_record, kind_of
from gateway.contract.routes import Target

START: Final = b'{"slice":'
"""How every such line begins, and no other message of the feed."""


class Encoded(NamedTuple):
    """A record's kind and its JSON, which holds no line break."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Slice:
    """What one line says."""

    records: list[Record]
    revision: int
    last: bool


def encoded(record: Record) -> Encoded:
    """The record, ready for a line."""
    text = json.dumps(encode_record(record), ensure_ascii=False, separators=(",", ":"))
    return Encoded(kind_of(record), text)


def slice_line(items: list[Encoded], revision: int, *, last: bool) -> bytes:
    """The line, its end included."""
    by_kind: dict[str, list[str]] = {}
    for kind, text in items:
        by_kind.setdefault(kind, []).append(text)
    records = ",".join([f'"{kind}":[{",".join(texts)}]' for kind, texts in by_kind.items()])
    ends = "true" if last else "false"
    return b'%b{"records":{%b},"revision":%d,"last":%b}}\n' % (START, records.encode(), revision, ends.encode())


def read_slice(line: bytes) -> Slice:
    """What a line that begins with START says. Raises ValueError for a wrong shape."""
    try:
        said = _MESSAGE.validate_json(line).slice
    except ValidationError as fault:  # its own words hold what was said, keys and secrets, too
        first = fault.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"a slice of another shape: {first['msg']} at {first['loc']}") from None
    records = [record for kind in RECORD_KINDS for record in getattr(said.records, kind)]
    return Slice(records, said.revision, said.last)


def _message() -> Any:
    """The shape of the whole message. Any: its classes are made here, with a field for each kind."""
    forbid = with_config(ConfigDict(extra="forbid"))
    for shape in (*RECORD_KINDS.values(), Target):
        forbid(shape)
    listed: Any = list
    lists: Any = [(kind, listed[shape], field(default_factory=list)) for kind, shape in RECORD_KINDS.items()]
    records = forbid(make_dataclass("_Records", lists, slots=True))
    body = make_dataclass("_Slice", [("records", records), ("revision", int), ("last", bool)], slots=True)
    return TypeAdapter(make_dataclass("_Message", [("slice", body)], slots=True))


_MESSAGE: Final = _message()
