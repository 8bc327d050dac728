"""Counts that processes share: seen by siblings, dropped with the dead, of a fixed size."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gateway.wire.tally import DEAD_S, Tally

NOW = 1_800_000_030.0


def beaten(*tallies: Tally, now: float = NOW) -> None:
    """Each says that it lives, and then looks who else does."""
    for _ in range(2):
        for tally in tallies:
            tally.beat(now)


def test_siblings_see_connections_and_requests(tmp_path: Path) -> None:
    """What one holds or lets through counts at the other, at once."""
    one, two = Tally(tmp_path, "web-0"), Tally(tmp_path, "web-1")
    beaten(one, two)
    one.hold(17, 3)
    assert (two.held_elsewhere(17), one.held_elsewhere(17), two.held_elsewhere(18)) == (3, 0, 0)
    one.ask(17, "user 1", NOW)
    two.ask(17, "user 1", NOW)
    two.ask(17, "user 2", NOW)
    assert one.asked(17, "user 1", NOW) == two.asked(17, "user 1", NOW) == (0, 2)
    one.hold(17, 0)
    assert two.held_elsewhere(17) == 0


def test_the_minute_before_is_told_and_older_ones_are_forgotten() -> None:
    """One table keeps two minutes of each visitor."""
    alone = Tally(None, "")
    for _ in range(3):
        alone.ask(17, "user 1", NOW)
    assert alone.asked(17, "user 1", NOW + 60) == (3, 0)
    alone.ask(17, "user 1", NOW + 60)
    assert alone.asked(17, "user 1", NOW + 60) == (3, 1)
    assert alone.asked(17, "user 1", NOW + 180) == (0, 0)


def test_the_dead_count_no_more_and_a_successor_begins_at_nothing(tmp_path: Path) -> None:
    """A process that was killed holds no connection; the next of its name empties the table that others read."""
    one, two = Tally(tmp_path, "web-0"), Tally(tmp_path, "web-1")
    one.hold(17, 3)
    beaten(one, two)
    assert two.held_elsewhere(17) == 3
    two.beat(NOW + DEAD_S)
    assert two.held_elsewhere(17) == 0
    successor = Tally(tmp_path, "web-0")
    beaten(successor, two, now=NOW + DEAD_S)
    assert two.held_elsewhere(17) == 0
    successor.hold(17, 1)
    assert two.held_elsewhere(17) == 1


def test_a_flood_of_visitors_makes_nothing_grow_and_hides_no_connection(tmp_path: Path) -> None:
    """Places are given to whoever came last; what an entry holds stays."""
    one, two = Tally(tmp_path, "web-0"), Tally(tmp_path, "web-1")
    one.hold(17, 3)
    beaten(one, two)
    size = (tmp_path / "web-0").stat().st_size
    for visitor in range(30_000):
        one.ask(17, f"192.0.2.{visitor}", NOW)
    assert (tmp_path / "web-0").stat().st_size == size
    assert two.held_elsewhere(17) == 3
    assert one.asked(17, "192.0.2.29999", NOW) == (0, 1)


def test_what_is_no_table_is_left_alone(tmp_path: Path) -> None:
    """A file that is too short, or a folder, does no harm."""
    (tmp_path / "web-7").write_bytes(b"short")
    (tmp_path / "folder").mkdir()
    one = Tally(tmp_path, "web-0")
    beaten(one)
    assert one.held_elsewhere(17) == 0


def test_without_a_shared_table_a_process_counts_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A disk without room is told in the log and stops nobody."""
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        alone = Tally(tmp_path / "file" / "tally", "web-0")
    alone.beat(NOW)
    alone.ask(17, "user 1", NOW)
    assert alone.asked(17, "user 1", NOW) == (0, 1)
    assert "this process alone" in caplog.text
