"""As which visit a connection stands."""

from __future__ import annotations

from pathlib import Path

from gateway.contract.routes import Level
from gateway.core.refusals import Code, Refusal
from gateway.entries.http.standing import Standing
from tests.gateway import world
from tests.gateway.gates import gate

MINE = world.admission(world.entry(17))
OTHER = world.anonymous_admission(world.entry(18, level=Level.OPEN))


async def test_one_visit_follows_another(tmp_path: Path) -> None:
    """The new one is entered before the old one is left, and the last one ends with the connection."""
    house = gate(tmp_path, world.table())
    standing = Standing(house, "http", "::1", lambda _: None)
    standing.leave()
    assert standing.enter(MINE) is None
    assert standing.on(MINE)
    assert standing.enter(OTHER) is None
    assert not standing.on(MINE)
    standing.count(1, 2)
    (visit,) = house.visits.live().values()
    assert visit.counts() == (1, 2)
    standing.leave()
    assert len(house.visits) == 0


async def test_without_room_it_stands_as_before(tmp_path: Path) -> None:
    """The refusal says why; its own place counts as free."""
    house = gate(tmp_path, world.table(), address_visits_limit=1)
    first, second = (Standing(house, "http", "::1", lambda _: None) for _ in range(2))
    assert first.enter(MINE) is None
    refusal = second.enter(MINE)
    assert refusal is not None
    assert refusal.code is Code.RATE_LIMITED
    assert first.enter(OTHER) is None


async def test_a_visit_that_began_before_is_cut_through_it(tmp_path: Path) -> None:
    """What it was until then hears nothing of it."""
    house, cuts = gate(tmp_path, world.table()), list[tuple[str, Refusal]]()
    visit = house.visits.open(MINE, "http", "::1", lambda no: cuts.append(("before", no))).begin()
    standing = Standing(house, "http", "::1", lambda no: cuts.append(("now", no)))
    standing.take_over(visit)
    house.visits.cut(visit.id)
    assert [name for name, _ in cuts] == ["now"]
    standing.leave()
