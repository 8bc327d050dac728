"""Who did what, on what, from where, and how it came out: a row in the same transaction as the act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from control.store.tables import Audit


async def record(
    session: AsyncSession,
    *,
    at: float,
    user_id: int | None,
    user_name: str,
    action: str,
    subject: str,
    address: str,
    outcome: str = "done",
    detail: dict[str, Any] | None = None,
) -> None:
    """One row. `action` is `job.submit`, `subject` is `job:jupyter-17`; `outcome` is `done` or a Problem's code."""
    session.add(
        Audit(
            at=at,
            user_id=user_id,
            user_name=user_name[:64],
            action=action,
            subject=subject[:200],
            address=address,
            outcome=outcome,
            detail=detail or {},
        )
    )
    await session.flush()


async def recent(session: AsyncSession, *, subject: str | None = None, limit: int = 100) -> Sequence[Audit]:
    """The newest rows, of one subject or of all."""
    rows = select(Audit).order_by(Audit.id.desc()).limit(limit)
    return (await session.scalars(rows if subject is None else rows.where(Audit.subject == subject))).all()
