"""The lines of a list: every kind passes, unchanged and checked, in the format of the feed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gateway.contract.codec import RECORD_KINDS, Record, encode_record, kind_of
from gateway.contract.routes import Authority, Certificate, Target
from gateway.contract.slices import START, Encoded, encoded, read_slice, slice_line
from tests.gateway import world

RECORDS: list[Record] = [
    world.user(1, 'Zoë "中文"'),
    world.key(),
    world.session(),
    world.token(),
    world.client(),
    world.grant(),
    world.job(),
    world.entry(cors_origins=("https://a.example",)),
    Certificate("c", ("*.a.example",), "chain\nof lines", "key"),
    Authority("a", "pem"),
    world.SECRET,
]


def test_what_was_written_is_read() -> None:
    """Names, line breaks and all."""
    line = slice_line([encoded(record) for record in RECORDS], 7, last=True)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    said = read_slice(line)
    assert (said.records, said.revision, said.last) == (RECORDS, 7, True)
    assert [type(record) for record in said.records] == [type(record) for record in RECORDS]


def test_a_line_is_the_message_that_the_feed_describes() -> None:
    """Whoever reads JSON reads it."""
    line = slice_line([encoded(world.user()), encoded(world.job())], 3, last=False)
    assert line.startswith(START)
    records = {"user": [encode_record(world.user())], "job": [encode_record(world.job())]}
    assert json.loads(line) == {"slice": {"records": records, "revision": 3, "last": False}}


def test_an_empty_list_is_a_line() -> None:
    """A database without records."""
    assert read_slice(slice_line([], 0, last=True)).records == []


@pytest.mark.parametrize("kind", RECORD_KINDS)
def test_unknown_fields_are_refused(kind: str) -> None:
    """Of every kind that has an example here, and within the target of an entry."""
    for record in RECORDS:
        if kind_of(record) == kind:
            plain = encode_record(record) | {"more": 1}
            with pytest.raises(ValueError, match="more"):
                read_slice(slice_line([Encoded(kind, json.dumps(plain))], 1, last=True))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line.replace(b'"entry":[', b'"planet":['),
        lambda line: line.replace(b'"level":"private"', b'"level":"secret"'),
        lambda line: line.replace(b'"id":17', b'"id":"x"'),
        lambda line: line.replace(b'"engine":', b'"machine":'),
        lambda line: line.replace(b'"revision":1', b'"revision":null'),
        lambda line: line[:-5],
    ],
)
def test_another_shape_is_refused(spoil: object) -> None:
    """Nothing is guessed."""
    line = slice_line([encoded(world.entry())], 1, last=True)
    assert callable(spoil)
    with pytest.raises(ValueError, match=r".+"):
        read_slice(spoil(line))


def test_a_refused_line_is_not_repeated() -> None:
    """The fault goes to the log, and a certificate's key must not."""
    text = json.dumps(encode_record(Certificate("c", ("a",), "chain", "PRIVATE")) | {"more": 1})
    with pytest.raises(ValueError, match="more") as raised:
        read_slice(slice_line([Encoded("certificate", text)], 1, last=True))
    assert "PRIVATE" not in str(raised.value)


def test_a_target_is_made_of_its_own_shape() -> None:
    """Not a dict."""
    (entry,) = read_slice(slice_line([encoded(world.entry())], 1, last=True)).records
    assert entry == world.entry()
    assert isinstance(replace(world.entry()).target, Target)
