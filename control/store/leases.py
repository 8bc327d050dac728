"""Leases: who works on what, until when, and the token that guards what they write.

A worker takes a lease, acts outside any transaction, and applies the outcome only while its token is
still the lease's. A worker that slept past its lease finds a higher token and writes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from control.store.tables import Lease


class LeaseLostError(Exception):
    """Someone else holds the lease by now; what was done must not be written."""


@dataclass(frozen=True, slots=True)
class Held:
    """A lease in hand."""

    name: str
    holder: str
    token: int


async def take(session: AsyncSession, name: str, holder: str, *, now: float, term_s: float) -> Held | None:
    """The lease `name` for `term_s` seconds; None while someone else holds it.

    A holder that takes its own again (a process started anew under the same name) gets it at once and
    shuts its predecessor out.
    """
    row = await session.get(Lease, name)
    if row is None:
        row = Lease(name=name, holder=holder, token=0, expires_at=0.0)
        session.add(row)
    elif row.holder != holder and row.expires_at > now:
        return None
    row.holder, row.token, row.expires_at = holder, row.token + 1, now + term_s
    await session.flush()
    return Held(name, holder, row.token)


async def renew(session: AsyncSession, held: Held, *, now: float, term_s: float) -> None:
    """Holds the lease for another `term_s` seconds under the same token. Raises LeaseLostError when it is gone."""
    row = await session.get(Lease, held.name)
    if row is None or row.token != held.token:
        raise LeaseLostError(held.name)
    row.expires_at = now + term_s
    await session.flush()


async def guard(session: AsyncSession, held: Held, *, now: float) -> None:
    """Returns while `held` is good in this transaction. Raises LeaseLostError when it is not."""
    row = await session.get(Lease, held.name)
    if row is None or row.token != held.token or row.expires_at <= now:
        raise LeaseLostError(held.name)


async def release(session: AsyncSession, held: Held) -> None:
    """Gives the lease back, if it is still held; its token goes on counting."""
    row = await session.get(Lease, held.name)
    if row is not None and row.token == held.token:
        row.expires_at = 0.0
        await session.flush()


async def clear_expired(session: AsyncSession, before: float) -> None:
    """Clears leases that ended before `before`: long enough ago that nobody acts on an old token."""
    await session.execute(delete(Lease).where(Lease.expires_at < before, Lease.expires_at > 0.0))
