"""What is missing before a job can be submitted and entered."""

from __future__ import annotations

from sqlalchemy.exc import SQLAlchemyError

from control.actions.context import Context
from control.store import people


async def missing(ctx: Context) -> list[str]:
    """Words for what is missing: `database`, `cluster NAME`, `gateway NAME`, `loop NAME`; empty when all is well."""
    gateways = [f"gateway {name}" for name in ctx.gateways.missing()]
    loops = [f"loop {name}" for name in ctx.silent_loops()]
    return [*await _database(ctx), *await _clusters(ctx), *gateways, *loops]


async def _database(ctx: Context) -> list[str]:
    try:
        async with ctx.db.read() as session:
            return [] if await people.user_count(session) else ["first administrator"]
    except (SQLAlchemyError, OSError, TimeoutError):
        return ["database"]


async def _clusters(ctx: Context) -> list[str]:
    """One cluster that answers is enough to submit a job."""
    for runtime in ctx.runtimes.values():
        if await runtime.healthy():
            return []
    return [f"cluster {name}" for name in ctx.runtimes]
