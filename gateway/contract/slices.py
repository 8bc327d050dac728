"""The lines of a list on the feed: {"slice": {"records": [{"kind", "key", "record"}...], "revision": N, "last": bool}}.

They are the one message of which there are many at once, so that they have a way of their own: control
passes on each record's JSON as its database has it, and a gateway reads a line and checks its records in
one go. Unknown kinds and fields are refused, as in the codec.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, make_dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple, Union

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from gateway.contract.codec import RECORD_KINDS, Record, encode_record, key_of, kind_of
from gateway.contract.routes import Target

START: Final = b'{"slice":'
"""How every such line begins, and no other message of the feed."""


class Encoded(NamedTuple):
    """A record with its JSON, which holds no line break."""

    kind: str
    key: str
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
    return Encoded(kind_of(record), key_of(record), text)


def slice_line(items: list[Encoded], revision: int, *, last: bool) -> bytes:
    """The line, its end included."""
    records = ",".join([f'{{"kind":"{kind}","key":{json.dumps(key)},"record":{text}}}' for kind, key, text in items])
    ends = "true" if last else "false"
    return b'%b{"records":[%b],"revision":%d,"last":%b}}\n' % (START, records.encode(), revision, ends.encode())


def read_slice(line: bytes) -> Slice:
    """What a line that begins with START says. Raises ValueError for a wrong shape."""
    try:
        said = _MESSAGE.validate_json(line).slice
    except ValidationError as fault:  # its own words hold what was said, keys and secrets, too
        first = fault.errors(include_input=False, include_url=False)[0]
        raise ValueError(f"a slice of another shape: {first['msg']} at {first['loc']}") from None
    return Slice([item.record for item in said.records], said.revision, said.last)


def _message() -> Any:
    """The shape of the whole message. Any: its classes are made here, one for each kind."""
    for shape in (*RECORD_KINDS.values(), Target):
        with_config(ConfigDict(extra="forbid"))(shape)
    items = [
        make_dataclass(f"_{kind}", [("kind", Literal[kind]), ("key", str), ("record", shape)], slots=True)
        for kind, shape in RECORD_KINDS.items()
    ]
    item: Any = Annotated[Union[tuple(items)], Field(discriminator="kind")]  # noqa: UP007 - made of a list
    records: Any = list[item]
    body = make_dataclass("_Slice", [("records", records), ("revision", int), ("last", bool)], slots=True)
    return TypeAdapter(make_dataclass("_Message", [("slice", body)], slots=True))


_MESSAGE: Final = _message()
