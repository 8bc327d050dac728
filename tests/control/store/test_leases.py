"""A lease has one holder, and only its token writes."""

from __future__ import annotations

import pytest

from control.store import leases
from control.store.engine import Database
from control.store.leases import LeaseLostError


async def test_lease_is_refused_while_someone_else_holds_it(db: Database) -> None:
    """Until it ends, or is given back."""
    async with db.write() as session:
        mine = await leases.take(session, "work", "a", now=0.0, term_s=10.0)
        assert mine is not None
        assert await leases.take(session, "work", "b", now=9.0, term_s=10.0) is None
        assert await leases.take(session, "work", "b", now=10.5, term_s=10.0) is not None
        with pytest.raises(LeaseLostError):
            await leases.guard(session, mine, now=10.5)
        with pytest.raises(LeaseLostError):
            await leases.renew(session, mine, now=10.5, term_s=10.0)
        await leases.release(session, mine)
        assert await leases.take(session, "work", "a", now=11.0, term_s=10.0) is None


async def test_successor_of_the_same_name_takes_over_at_once(db: Database) -> None:
    """The predecessor, if it still acts, writes nothing any more."""
    async with db.write() as session:
        old = await leases.take(session, "work", "a", now=0.0, term_s=10.0)
        new = await leases.take(session, "work", "a", now=1.0, term_s=10.0)
        assert old is not None
        assert new is not None
        await leases.guard(session, new, now=2.0)
        with pytest.raises(LeaseLostError):
            await leases.guard(session, old, now=2.0)


async def test_renewed_lease_goes_on_under_the_same_token(db: Database) -> None:
    """What was begun before the renewal may still be written."""
    async with db.write() as session:
        held = await leases.take(session, "work", "a", now=0.0, term_s=10.0)
        assert held is not None
        await leases.renew(session, held, now=9.0, term_s=10.0)
        await leases.guard(session, held, now=18.0)
        with pytest.raises(LeaseLostError):
            await leases.guard(session, held, now=19.0)


async def test_released_lease_is_free_and_old_ones_are_cleared(db: Database) -> None:
    """A released one keeps counting its tokens."""
    async with db.write() as session:
        held = await leases.take(session, "work", "a", now=0.0, term_s=10.0)
        assert held is not None
        await leases.release(session, held)
        taken = await leases.take(session, "work", "b", now=1.0, term_s=10.0)
        assert taken is not None
        assert taken.token > held.token
        await leases.clear_expired(session, 100.0)
        with pytest.raises(LeaseLostError):
            await leases.guard(session, taken, now=1.0)
