"""What has had its time is cleared, from the tables and from the gateways."""

from __future__ import annotations

from sqlalchemy import func, select

from control.domain.entries import ssh_default
from control.store import entries, feed, people, shares, signin
from control.store.people import NewSession
from control.store.shares import NewShare
from control.store.tables import Grant, HopCode, Job, LoginFailure, Session, Token
from control.work.sweep import Sweep
from gateway.contract.people import Scope
from tests.control.work.conftest import DOORS, Loops


async def test_expired_rights_are_cleared(loops: Loops) -> None:
    """Sign-ins, tokens, grants, codes, failures; what is still good stays."""
    name = await loops.submit()
    now = loops.clock.now()
    async with loops.db.write() as session:
        job = await session.get_one(Job, name)
        entry = await entries.add_entry(session, job, ssh_default(), DOORS, 1.0)
        alice = await people.user_by_name(session, "alice")
        assert alice is not None
        for word, expires_at in (("new", now + 1), ("old", now)):
            await people.add_session(session, alice, NewSession(word, word, word, word, "::1", expires_at), 1.0)
            await people.add_token(
                session,
                alice,
                name=word,
                token_hash=word,
                scope=Scope.API,
                entry_id=None,
                expires_at=expires_at,
                now=1.0,
            )
            await shares.add_hop(
                session,
                code_hash=word,
                entry_id=entry.id,
                session_id="new",
                user_id=alice.id,
                challenge="c",
                expires_at=expires_at,
            )
        share = await shares.set_share(session, entry, NewShare("h", "s", False, now, None), 1.0)
        await shares.redeem(session, share, alice, 1.0)
        await signin.add_failure(session, signin.PASSWORD, "alice", "::1", 1.0)
    await Sweep(loops.db, loops.clock.now).look()
    async with loops.db.read() as session:
        left = {
            table.__tablename__: await session.scalar(select(func.count()).select_from(table))
            for table in (Session, Token, HopCode, Grant, LoginFailure)
        }
        kinds = sorted(kind for kind, _ in await feed.keys(session))
    assert left == {"session": 1, "token": 1, "hop_code": 1, "grant_given": 0, "login_failure": 0}
    assert kinds == ["entry", "job", "session", "token", "user"]
