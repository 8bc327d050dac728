"""The bundle that entries are handed."""

from __future__ import annotations

from pathlib import Path

from gateway.contract.routes import Secret
from gateway.core.decide import Admission
from gateway.core.tickets import Purpose
from tests.gateway import gates, world


def test_deciding_uses_the_gates_table_and_clock(tmp_path: Path) -> None:
    """Entries say who and where; the gate knows the rest."""
    mine = gates.gate(tmp_path, world.table(world.job(), world.entry()))
    assert isinstance(mine.decide(world.entry(), world.visitor()), Admission)


def test_sealing_needs_a_secret_and_uses_the_newest(tmp_path: Path) -> None:
    """Without a secret nothing is sealed; after a rotation older texts still open."""
    table = world.table()
    mine = gates.gate(tmp_path, table)
    assert mine.seal(Purpose.HOP_STATE, {"a": 1}) is None
    table.replace([world.SECRET], 2)
    older = mine.seal(Purpose.HOP_STATE, {"a": 1})
    table.replace([world.SECRET, Secret("t2", "ticket", 2, "second")], 3)
    newer = mine.seal(Purpose.HOP_STATE, {"a": 2})
    assert older is not None
    assert newer is not None
    assert mine.open_sealed(Purpose.HOP_STATE, older) == {"a": 1}
    assert mine.open_sealed(Purpose.HOP_STATE, newer) == {"a": 2}
    assert mine.open_sealed(Purpose.ENTRY_TICKET, newer) is None
    assert mine.seal(Purpose.HOP_STATE, {"a": 2}) != newer
