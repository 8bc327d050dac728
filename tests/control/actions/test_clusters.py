"""Clusters and whether they answer."""

from __future__ import annotations

from control.actions import clusters
from control.domain.errors import Code
from tests.control.actions.refused import refused
from tests.control.api.desk import Desk


async def test_a_cluster_that_is_away_is_listed_and_cannot_be_asked(desk: Desk) -> None:
    """The list tells; whoever needs its abilities is refused with a sentence."""
    [seen] = await clusters.known(desk.ctx)
    assert (seen.name, seen.is_default) == ("local", True)
    assert seen.abilities == await clusters.abilities_of(desk.ctx, "local")
    desk.runtime.is_away = True
    [away] = await clusters.known(desk.ctx)
    assert away.abilities is None
    with refused(Code.CLUSTER_UNHEALTHY):
        await clusters.abilities_of(desk.ctx, "local")
