"""A list that comes in slice by slice, and what it takes away from the table that it replaces."""

from __future__ import annotations

from gateway.core.index import Index
from gateway.core.listing import Listing
from gateway.core.table import Table
from tests.gateway import world
from tests.gateway.world import NOW


def test_a_list_tells_which_grounds_were_lost() -> None:
    """Nobody gives them any more, or they vouch for other facts."""
    before = Index()
    for record in (world.user(1), world.user(2, "bob"), world.key(9)):
        before.put(record)
    listing = Listing(before)
    listing.take([world.user(1)])
    listing.take([world.key(9, fingerprint="SHA256:other"), world.user(4, "dora")])
    assert listing.lost() == {"user:2", "key:9"}


def test_of_two_records_of_one_key_the_later_counts() -> None:
    """A record that moved between two slices while the list was read withdraws what it says last, and no more."""
    before = Index()
    before.put(world.user(1))
    there_and_back, away = Listing(before), Listing(before)
    there_and_back.take([world.user(1, disabled=True), world.user(1)])
    away.take([world.user(1), world.user(1, disabled=True)])
    assert there_and_back.lost() == frozenset()
    assert away.lost() == {"user:1"}


def test_what_the_table_holds_already_stays_the_object_that_it_is() -> None:
    """After a reconnection nothing new stays in memory."""
    held, changed = world.user(1), world.user(2, "bob")
    before = Index()
    before.put(held)
    before.put(world.user(2, "robert"))
    listing = Listing(before)
    listing.take([world.user(1), changed])
    assert [record is kept for record, kept in zip(listing.index.all(), (held, changed), strict=True)] == [True, True]
    assert listing.fresh == 1


def test_a_list_that_says_the_same_does_not_differ() -> None:
    """Whatever order it came in."""
    before = Index()
    before.put(world.user(1))
    before.put(world.user(2, "bob"))
    for records, differs in (
        ([world.user(2, "bob"), world.user(1)], False),
        ([world.user(1)], True),
        ([world.user(1), world.user(3, "carol")], True),
        ([world.user(1), world.user(2, "bob"), world.user(3, "carol")], True),
    ):
        listing = Listing(before)
        listing.take(records)
        assert listing.differs() is differs


def test_ends_are_noted() -> None:
    """So that credentials of a list run out as those of changes do."""
    listing = Listing(Index())
    listing.take([world.user(), world.session("a", expires_at=NOW + 1), world.grant()])
    assert listing.ends == [(NOW + 1, "session:a")]


def test_the_old_is_forgotten_after_the_new_is_in_place() -> None:
    """A little at a time; the table answers out of the new list."""
    table = Table()
    table.replace([world.user(1), world.user(2, "bob")], 1)
    listing = table.listing()
    listing.take([world.user(1)])
    table.adopt(listing, 2)
    for _ in listing.forget_old():
        assert table.user(1) == world.user(1)
    assert table.records() == [world.user(1)]
    assert table.stands("user:1", NOW)
