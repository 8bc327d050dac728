"""One action: its transaction, its audit row, and the wait for the gateways."""

from __future__ import annotations

import pytest

from control.actions import tokens
from control.actions.acting import acting, settle
from control.actions.context import Context, Person
from control.domain.errors import Code, problem
from control.store import audit, feed, people
from control.store.tables import User
from gateway.contract.people import Scope
from tests.control.actions.refused import refused
from tests.control.api.desk import START, Desk


async def outcomes(ctx: Context) -> list[tuple[str, str, str, str]]:
    """What the audit says, newest first."""
    async with ctx.db.read() as session:
        return [(row.user_name, row.action, row.subject, row.outcome) for row in await audit.recent(session)]


async def test_an_action_leaves_its_row_in_the_same_transaction(ctx: Context, alice: Person) -> None:
    """With the subject that it turned out to have."""
    async with acting(ctx, alice, "job.submit", "user:1") as act:
        act.subject, act.detail["cluster"] = "job:x-1", "local"
    assert await outcomes(ctx) == [("alice", "job.submit", "job:x-1", "done")]


async def test_a_refused_action_writes_nothing_but_its_row(ctx: Context, alice: Person) -> None:
    """The change is rolled back, the attempt is not forgotten."""
    with refused(Code.FORBIDDEN):
        async with acting(ctx, alice, "user.language", "user:1") as act:
            await people.set_language(act.session, await act.session.get_one(User, alice.id), "en", act.now)
            raise problem(Code.FORBIDDEN)
    assert await outcomes(ctx) == [("alice", "user.language", "user:1", "forbidden")]
    async with ctx.db.read() as session:
        assert (await session.get_one(User, alice.id)).language == people.UNCHOSEN


async def test_a_failure_of_ours_leaves_nothing(ctx: Context, alice: Person) -> None:
    """It is in the log; the audit tells what people did."""
    with pytest.raises(KeyError):
        async with acting(ctx, alice, "job.close", "job:x-1"):
            raise KeyError("broken")
    assert await outcomes(ctx) == []


async def test_settling_says_who_is_pending_and_until_when(desk: Desk) -> None:
    """A gateway that does not hear us stops by itself when its snapshot is too old."""
    assert (await settle(desk.ctx, 7)).pending == ()
    desk.gateways.behind = ("web-0",)
    withdrawal = await settle(desk.ctx, 8)
    assert (withdrawal.pending, withdrawal.stops_by) == (("web-0",), START + 300)
    assert desk.gateways.asked == [7, 8]


async def test_nothing_to_withdraw_waits_for_nobody(desk: Desk) -> None:
    """Revision 0: no gateway ever knew."""
    desk.gateways.behind = ("web-0",)
    assert (await settle(desk.ctx, 0)).pending == ()
    assert desk.gateways.asked == []


async def test_what_was_given_is_good_once_the_gateways_hold_it(desk: Desk, alice: Person) -> None:
    """A token used right after its answer is known everywhere: the answer waits, as for withdrawals."""
    made = await tokens.make(desk.ctx, alice, tokens.Wish("t", Scope.API, None, None))
    async with desk.db.read() as session:
        revision = await feed.revision_of(session, "token", made.row.id)
    assert desk.gateways.asked == [revision]
