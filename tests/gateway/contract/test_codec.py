"""Records and changes to JSON and back: everything survives, nothing wrong comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gateway.contract.challenges import Challenge, ChallengeKind
from gateway.contract.codec import (
    RECORD_KINDS,
    Change,
    Record,
    decode_change,
    decode_record,
    encode_change,
    encode_record,
    key_of,
    kind_of,
)
from gateway.contract.routes import Authority, Certificate
from tests.gateway import world
from tests.gateway.core.test_table import records

ONE_OF_EACH: list[Record] = [
    world.user(),
    world.key(),
    world.session(),
    world.token(),
    world.client(),
    world.grant(),
    world.job(),
    world.entry(),
    Certificate("c", ("*.proxy.localhost", "x.example"), "chain", "key", default=True),
    Authority("clients-1", "pem"),
    Challenge("lab.example.org", ChallengeKind.HTTP, "token", "token.thumbprint"),
    world.SECRET,
]


@given(records)
def test_a_record_survives_json(record: Record) -> None:
    """Whatever its fields hold."""
    assert decode_record(kind_of(record), json.loads(json.dumps(encode_record(record)))) == record


@pytest.mark.parametrize("record", ONE_OF_EACH, ids=kind_of)
def test_a_change_survives_json(record: Record) -> None:
    """Put or taken away, of every kind."""
    for after in (record, None):
        change = Change(7, kind_of(record), key_of(record), after)
        assert decode_change(json.loads(json.dumps(encode_change(change)))) == change


def test_the_list_of_kinds_is_complete() -> None:
    """Each kind has a record here, so that a new one is tested too."""
    assert {kind_of(record) for record in ONE_OF_EACH} == set(RECORD_KINDS)


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        ("planet", {}),
        ("user", {}),
        ("user", None),
        ("user", {"id": 1, "name": "a", "role": "user", "disabled": False, "shoe_size": 44}),
        ("grant", {"id": "x", "entry_id": 1, "user_id": 2, "expires_at": None}),
        ("job", encode_record(world.job()) | {"phase": "asleep"}),
    ],
)
def test_a_wrong_record_is_a_value_error(kind: str, plain: Any) -> None:
    """Unknown kinds, missing, surplus and misshapen fields are refused at the edge."""
    with pytest.raises(ValueError):  # noqa: PT011 - each fault has its own sentence
        decode_record(kind, plain)


@pytest.mark.parametrize(
    "plain",
    [
        {},
        None,
        [],
        {"revision": "7", "kind": "user", "key": "1", "record": None},
        {"revision": 7, "kind": "planet", "key": "1", "record": None},
        {"revision": 7, "kind": {}, "key": "1", "record": None},
        {"revision": 7, "kind": "user", "key": 1, "record": None},
        {"revision": 7, "kind": "user", "key": "1", "record": {}},
    ],
)
def test_a_wrong_change_is_a_value_error(plain: Any) -> None:
    """A change has revision, kind, key and record."""
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's own message
        decode_change(plain)
