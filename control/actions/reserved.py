"""Random ports, reserved before the transaction that writes their entries, given back when it does not keep them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from control.actions.context import Context
from control.domain.entries import EntrySpec
from gateway.contract.routes import PortKind


@asynccontextmanager
async def reserved_ports(ctx: Context, specs: Iterable[EntrySpec]) -> AsyncIterator[dict[str, int]]:
    """A port by entry name for each spec that wants a random one; whoever keeps one takes it out of the dict.

    Raises ProblemError NO_FREE_PORT. When the block raises, all of them are given back: nothing was written.
    """
    reserved: dict[str, int] = {}
    kept = False
    try:
        for spec in specs:
            if spec.port_kind is PortKind.RANDOM:
                reserved[spec.name] = await ctx.ports.reserve()
        left = dict(reserved)
        yield left
        kept = True
    finally:
        for name, port in reserved.items():
            if not kept or name in left:
                await ctx.ports.release(port)
