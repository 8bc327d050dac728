"""What gateways know, one row a record, written in the same transaction as the change that it tells of.

Each write takes the next revision. A record taken away stays as a tombstone until `compact`, so that a
gateway that watches from an older revision learns of it; who is further behind lists again.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Final, NamedTuple

from sqlalchemy import Text, cast, delete, func, literal, select, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from control.store import counters
from control.store.engine import first, tell
from control.store.tables import Meta, Record
from gateway.contract import codec

TOPIC: Final = "feed"
TOMBSTONE_S: Final = 3600.0
_EPOCH: Final = "epoch"
_HORIZON: Final = "horizon"


async def put(session: AsyncSession, record: codec.Record, now: float) -> int:
    """Writes `record` and returns its revision; an equal one keeps the revision that it has.

    Private fields of certificates and secrets come sealed (`store/secrets.py`).
    """
    kind, key, payload = codec.kind_of(record), codec.key_of(record), codec.encode_record(record)
    row = await session.get(Record, (kind, key))
    if row is not None and row.payload == payload:
        return row.revision
    revision = await counters.next_number(session, counters.FEED)
    if row is None:
        session.add(Record(kind=kind, key=key, revision=revision, payload=payload, written_at=now))
    else:
        row.revision, row.payload, row.written_at = revision, payload, now
    await session.flush()
    tell(session, TOPIC)
    return revision


async def drop(session: AsyncSession, kind: str, key: object, now: float) -> int:
    """Takes a record away and returns the revision at which it went; 0 when it was never there."""
    row = await session.get(Record, (kind, str(key)))
    if row is None:
        return 0
    if row.payload is not None:
        row.revision = await counters.next_number(session, counters.FEED)
        row.payload, row.written_at = None, now
        await session.flush()
        tell(session, TOPIC)
    return row.revision


async def revision_of(session: AsyncSession, kind: str, key: object) -> int | None:
    """The revision at which a record was last written; None when gateways do not have it."""
    return await first(
        session, select(Record.revision).where(Record.kind == kind, Record.key == str(key), Record.payload.is_not(None))
    )


async def revisions_of(session: AsyncSession, kind: str, keys: Sequence[str]) -> dict[str, int]:
    """The revisions of several records of a kind; absent ones are left out."""
    rows = await session.execute(
        select(Record.key, Record.revision).where(
            Record.kind == kind, Record.key.in_(keys), Record.payload.is_not(None)
        )
    )
    return {row.key: row.revision for row in rows}


async def latest(session: AsyncSession) -> int:
    """The highest revision given out."""
    return await counters.current(session, counters.FEED)


async def changed_after(session: AsyncSession, revision: int, limit: int) -> list[Record] | None:
    """Up to `limit` rows written after `revision`, oldest first; None when some of them may be gone."""
    found = await session.scalars(
        select(Record).where(Record.revision > revision).order_by(Record.revision).limit(limit)
    )
    rows = list(found)
    horizon = await session.scalar(select(Meta.value).where(Meta.name == _HORIZON))
    if revision < int(horizon or 0):
        return None
    return None if not rows and revision > await latest(session) else rows


class Stored(NamedTuple):
    """A record as it lies here: its payload is JSON text, not read."""

    kind: str
    key: str
    text: str


async def slice_after(session: AsyncSession, after: tuple[str, str], limit: int) -> list[Stored]:
    """Up to `limit` records in the order of kind and key, starting after that of `after`."""
    kind, key = after
    text = cast(Record.payload, Text)
    rows = await session.execute(
        select(Record.kind, Record.key, text)
        .where(Record.payload.is_not(None), tuple_(Record.kind, Record.key) > tuple_(literal(kind), literal(key)))
        .order_by(Record.kind, Record.key)
        .limit(limit)
    )
    return [Stored(*row) for row in rows]


async def keys(session: AsyncSession) -> set[tuple[str, str]]:
    """Kind and key of every record that is there."""
    rows = await session.execute(select(Record.kind, Record.key).where(Record.payload.is_not(None)))
    return {(row.kind, row.key) for row in rows}


async def compact(session: AsyncSession, now: float) -> int:
    """Clears tombstones older than TOMBSTONE_S and returns how many."""
    old = (Record.payload.is_(None)) & (Record.written_at < now - TOMBSTONE_S)
    horizon = await session.scalar(select(func.max(Record.revision)).where(old))
    if horizon is None:
        return 0
    await session.merge(Meta(name=_HORIZON, value=str(horizon)))
    cleared = await session.execute(delete(Record).where(old).returning(Record.key))
    return len(cleared.all())


async def epoch(session: AsyncSession) -> str:
    """The name of this database, made at its first start: revisions mean something within it only."""
    row = await session.get(Meta, _EPOCH)
    if row is None:
        row = Meta(name=_EPOCH, value=uuid.uuid4().hex)
        session.add(row)
        await session.flush()
    return row.value
