"""The audit tells who did what."""

from __future__ import annotations

from control.store import audit
from control.store.engine import Database


async def test_rows_are_told_newest_first_and_by_subject(db: Database) -> None:
    """Bounded in what people may send: names and subjects are cut."""
    async with db.write() as session:
        for number, subject in enumerate(("job:a", "job:b", "job:a")):
            await audit.record(
                session, at=number, user_id=1, user_name="x" * 200, action="job.submit", subject=subject, address="::1"
            )
        assert [row.at for row in await audit.recent(session)] == [2.0, 1.0, 0.0]
        assert [row.at for row in await audit.recent(session, subject="job:a", limit=1)] == [2.0]
        assert len((await audit.recent(session))[0].user_name) == 64
