"""Limits of an entry: read from outside, each fault at its field, and printed as they were."""

from __future__ import annotations

from typing import Any

import pytest

from control.domain.errors import FieldCode
from control.domain.limits import LIMITS, print_limits, read_limits
from gateway.contract.routes import EntryLimits


@pytest.mark.parametrize(
    ("plain", "limits"),
    [
        (None, None),
        ({}, None),
        ({"connections": None}, None),
        ({"connections": 1}, EntryLimits(connections=1)),
        ({"requests_per_minute": 60, "body_bytes": 2**50}, EntryLimits(None, 60, 2**50)),
    ],
)
def test_limits_are_read_and_printed_back(plain: Any, limits: EntryLimits | None) -> None:
    """What is null or left out has no limit."""
    read, faults = read_limits(plain, "", is_web=True)
    assert (read, faults) == (limits, [])
    assert read_limits(print_limits(read), "", is_web=True) == (limits, [])


@pytest.mark.parametrize(
    ("plain", "name", "code"),
    [
        ([], "limits", FieldCode.TYPE),
        ({"speed": 3}, "limits.speed", FieldCode.UNKNOWN),
        ({"connections": "3"}, "limits.connections", FieldCode.TYPE),
        ({"connections": True}, "limits.connections", FieldCode.TYPE),
        ({"connections": 0}, "limits.connections", FieldCode.OUT_OF_RANGE),
        ({"body_bytes": LIMITS["body_bytes"] + 1}, "limits.body_bytes", FieldCode.OUT_OF_RANGE),
    ],
)
def test_what_is_no_limit_is_named(plain: Any, name: str, code: FieldCode) -> None:
    """At its path."""
    limits, faults = read_limits(plain, "entries[0].", is_web=True)
    assert limits is None
    assert [(fault.name, fault.code) for fault in faults] == [(f"entries[0].{name}", code)]


def test_requests_and_bodies_are_the_webs() -> None:
    """At an ssh or tcp entry only connections are counted."""
    wish = {"connections": 3, "requests_per_minute": 3, "body_bytes": 3}
    _, faults = read_limits(wish, "", is_web=False)
    assert [fault.name for fault in faults] == ["limits.requests_per_minute", "limits.body_bytes"]
    assert read_limits({"connections": 3}, "", is_web=False) == (EntryLimits(connections=3), [])
