"""What is missing."""

from __future__ import annotations

import dataclasses

from control.actions import health
from control.actions.context import Person
from tests.control.api.desk import Desk


async def test_all_is_well_with_a_person_a_cluster_and_every_gateway(desk: Desk, alice: Person) -> None:
    """Then nothing is missing."""
    assert await health.missing(desk.ctx) == []


async def test_each_part_is_named(desk: Desk) -> None:
    """So that whoever starts the platform knows where to look."""
    desk.gateways.absent = ("web-0", "ssh")
    desk.runtime.is_away = True
    assert await health.missing(desk.ctx) == ["first administrator", "cluster local", "gateway web-0", "gateway ssh"]


async def test_a_database_that_does_not_answer_is_named(desk: Desk, alice: Person) -> None:
    """And the rest is still looked at."""
    async with desk.db.write() as session:
        await (await session.connection()).exec_driver_sql("ALTER TABLE user_account RENAME TO elsewhere")
    assert await health.missing(desk.ctx) == ["database"]


async def test_a_loop_that_hangs_is_named(desk: Desk, alice: Person) -> None:
    """A job could be submitted, and nobody would start it."""
    ctx = dataclasses.replace(desk.ctx, silent_loops=lambda: ("looking at jobs",))
    assert await health.missing(ctx) == ["loop looking at jobs"]
