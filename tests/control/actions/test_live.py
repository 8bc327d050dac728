"""Hints collected for one person, and changes by revision."""

from __future__ import annotations

from control.actions import live
from control.actions.context import Context, Person
from control.actions.jobs import submit
from control.actions.live import News
from control.actions.submission import Wish
from control.store import jobs, people, shares

RUN = Wish(command=("true",))


async def test_a_watch_takes_what_concerns_its_person(ctx: Context, alice: Person, bob: Person) -> None:
    """Jobs of anyone (the revision tells whose), grants and accounts only their own; nothing after its end."""
    hints = ctx.db.hints
    async with live.watch(hints, alice) as watched:
        hints.tell(shares.GRANT_TOPIC, str(bob.id))
        hints.tell(people.USER_TOPIC, str(bob.id))
        assert await watched.next(0.01) == News()
        hints.tell(jobs.TOPIC, "x-1")
        hints.tell(jobs.TOPIC, "x-2")
        hints.tell(shares.GRANT_TOPIC, str(alice.id))
        assert await watched.next(5) == News(jobs=True, shared=True)
        hints.tell(people.USER_TOPIC, str(alice.id))
        assert await watched.next(5) == News(account=True)
    hints.tell(jobs.TOPIC, "x-3")
    assert watched.news == News()


async def test_changes_come_in_order_and_only_ones_own(ctx: Context, alice: Person, bob: Person, admin: Person) -> None:
    """From a revision on; everyone's for an administrator who asks, and for nobody else."""
    start = await live.head(ctx)
    first, _ = await submit(ctx, alice, RUN)
    other, _ = await submit(ctx, bob, RUN)
    second, _ = await submit(ctx, alice, RUN)
    changed, reached = await live.changes(ctx, alice, start, everyone=True)
    assert [each.job.id for each in changed] == [first.job.id, second.job.id]
    assert reached == await live.head(ctx)
    assert await live.changes(ctx, alice, reached, everyone=False) == ([], reached)
    everyones, _ = await live.changes(ctx, admin, start, everyone=True)
    assert [each.job.id for each in everyones] == [first.job.id, other.job.id, second.job.id]
    assert (await live.changes(ctx, admin, start, everyone=False))[0] == []
