"""Connections to control are counted, in all and by address."""

from __future__ import annotations

from gateway.core.refusals import Code, Refusal
from gateway.core.room import Limits
from gateway.wire.desk import Desk

LIMITS = Limits(total=20, of_entry=20, of_address=12)


def test_no_address_takes_all_connections_to_control() -> None:
    """One in four of the visits that it may hold; others have theirs, until there are none left."""
    desk = Desk()
    assert [desk.enter("a", LIMITS) for _ in range(4)] == [None, None, None, Refusal(Code.RATE_LIMITED)]
    assert [desk.enter("b", LIMITS) for _ in range(3)] == [None, None, Refusal(Code.BUSY)]


def test_one_that_ends_makes_room() -> None:
    """For its address, and for everybody."""
    desk = Desk()
    for _ in range(3):
        assert desk.enter("a", LIMITS) is None
    desk.leave("a")
    assert desk.enter("a", LIMITS) is None
    for _ in range(3):
        desk.leave("a")
    assert [desk.enter("b", LIMITS) for _ in range(3)] == [None, None, None]


def test_who_is_refused_takes_no_place() -> None:
    """However often they try."""
    desk = Desk()
    for _ in range(50):
        desk.enter("a", LIMITS)
    assert [desk.enter("b", LIMITS) for _ in range(2)] == [None, None]
